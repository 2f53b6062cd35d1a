"""A run's rewards come from Assay whichever way it is reached: the same numbers over HTTP, gRPC and embedded."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from assay.trainer_adapter.grpo.run.loop import Training
from assay.trainer_adapter.grpo.run.records import read_lines

from ._tiny import run_of


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def service() -> Iterator[dict[str, str]]:
    """Assay with both fronts."""
    from assay.service.http.app import create_app
    from assay.service.settings import Settings

    port, grpc_port = free_port(), free_port()
    app = create_app(Settings(lanes=1, warm=(), sandbox_backends=(), port=port, grpc_port=grpc_port))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", ws="none"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        threading.Event().wait(0.01)
    yield {"http": f"http://127.0.0.1:{port}", "grpc": f"grpc://127.0.0.1:{grpc_port}", "embedded": "embedded:"}
    server.should_exit = server.force_exit = True
    thread.join()


@pytest.mark.timeout(600)
def test_the_same_numbers_over_http_grpc_and_embedded(
    service: dict[str, str], paths: dict[str, str], tmp_path: Path
) -> None:
    runs = []
    for name, url in service.items():
        Training(run_of(paths, f"reward.url='{url}'"), tmp_path / name, quiet=True).train()
        runs.append([
            {key: value for key, value in line.items() if not key.endswith(("_s", "_ms"))}
            for line in read_lines(tmp_path / name / "metrics.jsonl")
        ])  # fmt: skip
    assert runs[0] == runs[1] == runs[2] and any(line["reward_mean"] > 0 for line in runs[0])
