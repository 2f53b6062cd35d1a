"""`assay serve` in a separate process."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

PLUGIN = str(Path(__file__).with_name("slow.py"))


def assay(*arguments: str, within: Sequence[str] = (), **environment: str) -> subprocess.Popen[str]:
    command = [*within, sys.executable, "-m", "assay", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ | environment)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(port: int, *, within: Sequence[str] = (), **environment: str) -> Iterator[psutil.Process]:
    arguments = ["--port", str(port), "--verifiers", PLUGIN, "--lanes", "2"]
    with assay("serve", *arguments, within=within, **environment) as server:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not answers(port):
            time.sleep(0.05)
        try:
            yield psutil.Process(server.pid)
        finally:
            server.kill()
            server.communicate()


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1) as response:
            return bool(response.status == 200)
    except OSError:
        return False
