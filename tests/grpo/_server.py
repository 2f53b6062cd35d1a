"""A small generator server that samples from a real tiny model: the calls of OpenAI, vLLM and SGLang, and weights."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.sampling import choose, key, uniforms

from ._tiny import policy_of


class Served:
    """The server; `calls` are the paths asked for, `slow` the seeds (modulo 3) that take a minute.

    `load_s`: seconds until weights are read; `missing`: how often they were gone by then.
    """

    def __init__(self, paths: dict[str, str]) -> None:
        self.policy: Policy = policy_of(paths).frozen()
        self.calls: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.fail = 0
        self.slow: set[int] = set()
        self.dropped = 0
        self.load_s = 0.0
        self.missing = 0
        self.lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                return

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                status, answer = owner.answer(self.path, body, self)
                data = json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    owner.dropped += 1

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path: str, body: dict[str, Any], handler: BaseHTTPRequestHandler) -> tuple[int, Any]:
        self.calls.append(path)
        self.bodies.append(body)
        if self.fail:
            self.fail -= 1
            return 503, {}
        if path == "/update_weights_from_disk":
            time.sleep(self.load_s)
            with self.lock:
                if not Path(body["model_path"]).exists():
                    self.missing += 1
                    return 400, {}
                self.policy.restore(Path(body["model_path"]))
            return 200, {"success": True}
        if path == "/generate":
            return 200, self._sglang(body)
        if path == "/v1/completions":
            if body["seed"] % 3 in self.slow and self._gone(handler):
                self.dropped += 1
                return 200, {}
            return 200, self._openai(body)
        return (200, {}) if path.startswith(("/collective_rpc", "/reset_prefix_cache")) else (404, {})

    def _gone(self, handler: BaseHTTPRequestHandler) -> bool:
        """Wait for a minute, or until the client has gone away."""
        handler.connection.settimeout(0.02)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                if handler.connection.recv(1) == b"":
                    return True
            except TimeoutError:
                continue
            except OSError:
                return True
        return False

    def _write(self, ids: list[int], room: int, temperature: float, seed: int) -> tuple[list[int], list[float], bool]:
        number, out, logps = torch.tensor([key(seed)]), list[int](), list[float]()
        with self.lock, torch.no_grad():
            for step in range(room):
                logits = self.policy.model(input_ids=torch.tensor([[*ids, *out]])).logits[:, -1]
                token, logp = choose(logits, uniforms(number, step), temperature=temperature)
                out.append(int(token))
                logps.append(float(logp))
                if out[-1] in self.policy.end_ids:
                    return out, logps, True
        return out, logps, False

    def _openai(self, body: dict[str, Any]) -> dict[str, Any]:
        ids, logps, ended = self._write(body["prompt"], body["max_tokens"], body["temperature"], body["seed"])
        words = self.policy.tokenizer
        names = [f"token_id:{one}" if body.get("return_tokens_as_token_ids") else words.decode([one]) for one in ids]
        choice = {
            "text": words.decode(ids, skip_special_tokens=True), "finish_reason": "stop" if ended else "length",
            "logprobs": {"token_logprobs": logps, "tokens": names},
        }  # fmt: skip
        return {"choices": [{**choice, **({"token_ids": ids} if body.get("return_token_ids") else {})}]}

    def _sglang(self, body: dict[str, Any]) -> dict[str, Any]:
        how = body["sampling_params"]
        ids, logps, ended = self._write(
            body["input_ids"], how["max_new_tokens"], how["temperature"], how["sampling_seed"]
        )
        entries = [[logp, one, None] for logp, one in zip(logps, ids, strict=True)]
        return {
            "text": self.policy.tokenizer.decode(ids, skip_special_tokens=True),
            "meta_info": {"output_token_logprobs": entries, "finish_reason": {"type": "stop" if ended else "length"}},
        }  # fmt: skip
