"""A real Redis for this folder, and in-process replicas that share it."""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import pytest_asyncio

from assay.service.http.app import create_app
from assay.service.settings import Settings

PASSWORD, SECRET = "p4ss", "s" * 32


class RedisServer:
    """`redis-server` on its own port; it can be killed, stopped and restarted."""

    def __init__(self, *options: str, url: str = "") -> None:
        self._options = options
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = url.format(port=self.port) or f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        """Start it empty, and wait until it listens."""
        command = ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        command += ["--requirepass", PASSWORD, "--bind", "127.0.0.1", "--daemonize", "no", *self._options]
        command = [part.replace("{port}", str(self.port)) for part in command]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("redis-server did not start")

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """It takes connections and says nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        self._process.send_signal(signal.SIGCONT)


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """A fresh one."""
    yield from _served()


@pytest.fixture(scope="module")
def lasting_redis() -> Iterator[RedisServer]:
    """A Redis for a whole test file."""
    yield from _served()


def _served() -> Iterator[RedisServer]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (tools/apt.txt)")
    one = RedisServer()
    yield one
    one.thaw()
    one.kill()


@asynccontextmanager
async def replica(
    server: RedisServer, *, secret: str = SECRET, timeout_ms: float = 200, worth_us: float = 0, **settings: Any
) -> Any:
    """Yield an ASGI client of a replica with this Redis."""
    redis = {"url": server.url, "secret": secret, "timeout_ms": timeout_ms, "worth_us": worth_us}
    app = create_app(Settings(lanes=1, warm=(), sandbox_backends=(), redis=redis, **settings))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def pair(lasting_redis: RedisServer) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """Two replicas that share a Redis, and two keys."""
    keys, quota = ("key-alpha", "key-beta", "key-gamma"), {"items": 60, "window_s": 86400}
    async with (
        replica(lasting_redis, keys=keys, quota=quota) as one,
        replica(lasting_redis, keys=keys, quota=quota) as other,
    ):
        yield one, other


async def metric(http: httpx.AsyncClient, name: str) -> float:
    """Return the sum of a metric's samples."""
    lines = (await http.get("/metrics", headers={"authorization": "Bearer key-alpha"})).text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))
