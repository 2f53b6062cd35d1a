"""Servers in separate processes, and their CPU time."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

NO_SANDBOX = {"ASSAY_SANDBOX_BACKENDS": "[]"}
"""These benchmarks run no programs, so no sandbox is started."""


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server(
    *command: str, health: str, environment: dict[str, str] = NO_SANDBOX
) -> Iterator[tuple[str, psutil.Process]]:
    """Run `python COMMAND` with `{port}` replaced; yield its URL and process."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = [part.format(port=port) for part in command]
    with subprocess.Popen(
        [sys.executable, *arguments], stderr=subprocess.DEVNULL, env=os.environ | environment
    ) as process:
        try:
            _await(url + health, process)
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("the server ended") from None
            time.sleep(0.05)
    raise RuntimeError("the server did not start")


def cpu_s(process: psutil.Process) -> float:
    """Return user and system CPU seconds of one process."""
    times = process.cpu_times()
    return float(times.user + times.system)


def tree_cpu_s(process: psutil.Process) -> float:
    """Return CPU seconds of all its live descendants."""
    return sum(cpu_s(child) for child in process.children(recursive=True))
