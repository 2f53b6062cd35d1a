"""The service as it is run: `assay serve` of the main environment, in a process of its own, that can be killed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("ASSAY_PYTHON", ROOT / ".venv/bin/python"))
START_S = 120.0


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Service:
    """HTTP and gRPC on fixed ports. `settings`: `ASSAY_` variables without the prefix."""

    def __init__(self, **settings: str) -> None:
        self.port, self.grpc_port = free_port(), free_port()
        self.http = f"http://127.0.0.1:{self.port}"
        self.grpc = f"grpc://127.0.0.1:{self.grpc_port}"
        defaults = {"LANES": "1", "SANDBOX_BACKENDS": "[]", "WARM": "[]"}
        self._settings = {f"ASSAY_{name}": value for name, value in {**defaults, **settings}.items()}
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, and wait until it would take a batch in."""
        command = [str(PYTHON), "-m", "assay", "serve", "--port", str(self.port), "--grpc-port", str(self.grpc_port)]
        self._process = subprocess.Popen(
            command, env={**os.environ, **self._settings}, stderr=subprocess.DEVNULL, cwd=ROOT
        )
        until = time.monotonic() + START_S
        while not self.ready():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"assay serve did not start: {self._process.poll()}")
            time.sleep(0.05)

    def ready(self) -> bool:
        """Whether `/readyz` says so."""
        try:
            return urllib.request.urlopen(f"{self.http}/readyz", timeout=1).status == 200
        except OSError:
            return False

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def cpu_s(self) -> float:
        """CPU seconds of the front process."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def sockets(self) -> int:
        """Sockets that the front has open."""
        assert self._process is not None
        folder = Path(f"/proc/{self._process.pid}/fd")
        return sum(os.readlink(entry).startswith("socket:") for entry in folder.iterdir())

    def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        with urllib.request.urlopen(f"{self.http}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def settings_json(value: object) -> str:
    """A setting's value as a variable holds it."""
    return json.dumps(value)
