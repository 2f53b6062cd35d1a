"""A real service on its own port, shared by this folder; every session is closed at the end."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from assay.service.http.app import create_app
from assay.service.settings import Settings
from assay.trainer_adapter.sessions import close_all

EXACT = {"mode": "string", "gold": "{answer}", "extract": "whole"}


class Served:
    """uvicorn in a thread; `stop` and `start` again on the same port."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        app = create_app(Settings(lanes=1, warm=(), sandbox_backends=(), port=self.port))
        config = uvicorn.Config(app, host="127.0.0.1", port=self.port, log_level="critical", ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=lambda: asyncio.run(self.server.serve()), daemon=True)
        self.thread.start()
        while not self.server.started:
            threading.Event().wait(0.01)

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """One service for all tests of this folder."""
    one = Served()
    yield one
    with contextlib.suppress(RuntimeError):
        one.stop()


@pytest.fixture(autouse=True, scope="session")
def sessions() -> Iterator[None]:
    """Close all sessions after the tests."""
    yield
    close_all()
