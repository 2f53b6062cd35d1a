"""A real vLLM server in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

START_S = 360.0
ENVIRONMENT = {
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_SERVER_DEV_MODE": "1",  # /collective_rpc
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",  # /v1/load_lora_adapter
    "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
}
OPTIONS = (
    "--served-model-name", "policy", "--dtype", "float32", "--enforce-eager", "--max-model-len", "64",
    "--max-num-seqs", "32", "--generation-config", "vllm", "--logprobs-mode", "processed_logprobs",
    "--enable-lora", "--max-lora-rank", "8", "--max-cpu-loras", "8",
)  # fmt: skip


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Vllm:
    """The server of a model's folder; it keeps its port when it is started again."""

    def __init__(self, model: str, log: Path) -> None:
        self._model, self._log, self._port = model, log, free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers. Raises AssertionError with the end of its log."""
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", self._model, *OPTIONS]
        command += ["--host", "127.0.0.1", "--port", str(self._port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **ENVIRONMENT}, start_new_session=True
            )
        until = time.monotonic() + START_S
        while not self._answers():
            gone = self._process.poll() is not None
            assert not gone and time.monotonic() < until, self._log.read_text(errors="replace")[-3000:]
            time.sleep(0.5)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=5.0).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Send SIGKILL to the server and its worker processes."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def reset(self) -> None:
        """Load the weights that it started with: an adapter is trained on these."""
        body = {"method": "reload_weights", "kwargs": {"weights_path": self._model}}
        httpx.post(f"{self.url}/collective_rpc", json=body, timeout=60.0).raise_for_status()
        httpx.post(f"{self.url}/reset_prefix_cache", timeout=60.0).raise_for_status()

    def prompt_logprobs(self, ids: Sequence[int], *, model: str = "policy") -> list[float]:
        """Return the server's own log-prob of every token of `ids` but the first."""
        body: dict[str, Any] = {"model": model, "prompt": list(ids), "max_tokens": 1, "prompt_logprobs": 0}
        answer = httpx.post(f"{self.url}/v1/completions", json=body, timeout=60.0).raise_for_status().json()
        found = answer["choices"][0]["prompt_logprobs"]
        return [float(entry[str(one)]["logprob"]) for entry, one in zip(found[1:], ids[1:], strict=True)]
