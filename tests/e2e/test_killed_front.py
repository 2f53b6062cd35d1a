"""`assay serve` killed with -9 during `assay score`: a clear error, no process left, --resume completes the run."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from ._service import assay, free_port, serving

ROWS = 6000


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    with path.open("w") as file:
        for n in range(ROWS):
            word = "yes" if n % 3 else "no"
            row = {"id": f"r{n}", "verifier": "slow", "completion": word, "reference": {"word": "yes", "n": n}}
            file.write(json.dumps(row) + "\n")
    return path


def test_a_run_whose_service_is_killed_can_be_resumed(rows: Path, tmp_path: Path) -> None:
    out, port = tmp_path / "out.jsonl", free_port()
    url = f"http://127.0.0.1:{port}"
    with serving(port) as server:
        children = server.children(recursive=True)
        with assay("score", str(rows), "-o", str(out), "--server", url, "--deadline", "8") as client:
            deadline = time.monotonic() + 60
            while lines(out) < 500 and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(server.pid, signal.SIGKILL)
            _, said = client.communicate(timeout=120)
    assert client.returncode not in (0, None) and "assay:" in said
    assert 500 <= lines(out) < ROWS
    _, alive = psutil.wait_procs(children, timeout=10)
    assert len(children) >= 3 and not alive

    with serving(port), assay("score", str(rows), "-o", str(out), "--server", url, "--resume") as again:
        _, said = again.communicate(timeout=240)
    assert again.returncode == 0, said
    results = [json.loads(line) for line in out.read_text().splitlines()]
    assert [r["id"] for r in results] == [f"r{n}" for n in range(ROWS)]
    assert [r["result"]["reward"] for r in results] == [float(bool(n % 3)) for n in range(ROWS)]


def test_sigterm_finishes_running_requests() -> None:
    port = free_port()
    reference = {"word": "yes"}
    items = [{"verifier": "slow", "completion": "yes", "reference": reference | {"n": n}} for n in range(500)]
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/score", json.dumps({"items": items}).encode(), {"content-type": "application/json"}
    )
    with serving(port) as server:
        children = server.children(recursive=True)
        stopper = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -TERM {server.pid}"])
        with urllib.request.urlopen(request, timeout=60) as response:
            results = json.load(response)["results"]
        stopper.wait()
        assert {r["reward"] for r in results} == {1.0}
        server.wait(timeout=30)
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive
