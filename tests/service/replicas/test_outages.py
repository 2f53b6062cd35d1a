"""Redis unavailable or slow: only cache hits are lost, no request waits for it, and it is used again afterwards."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx

from assay.service.replicas.link import Link

from ..http.conftest import exact
from .conftest import PASSWORD, RedisServer, metric, replica
from .test_replicas import score


async def until_redis_is(up: bool, http: httpx.AsyncClient) -> None:
    until = time.monotonic() + 20
    while await metric(http, "assay_redis_up") != up:
        assert time.monotonic() < until
        await asyncio.sleep(0.05)


async def test_an_outage_of_redis_costs_only_cache_hits(redis_server: RedisServer) -> None:
    async with replica(redis_server) as one:
        await score(one, exact("5"))
        redis_server.kill()
        told = [await score(one, exact(f"{n}"), exact("4")) for n in range(20)]
        assert [[item["reward"] for item in both] for both in told] == [[float(n == 4), 1.0] for n in range(20)]
        await until_redis_is(False, one)
        redis_server.start()
        await until_redis_is(True, one)
        hits = await metric(one, "assay_redis_misses_total")
        await score(one, exact("again"))
        assert await metric(one, "assay_redis_misses_total") == hits + 1, "it is asked again"


async def test_a_hanging_redis_is_waited_for_only_briefly(redis_server: RedisServer) -> None:
    async with replica(redis_server, timeout_ms=5) as one:
        await score(one, exact("5"))
        redis_server.freeze()
        started = time.monotonic()
        for n in range(40):
            await score(one, exact(f"{n}"))
        assert time.monotonic() - started < 8
        await until_redis_is(False, one)
        redis_server.thaw()
        await until_redis_is(True, one)


@asynccontextmanager
async def behind_a_slow_line(port: int, *, delay_s: float) -> AsyncIterator[int]:
    """Yield a port that forwards to another one with delayed answers."""

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter, delay_s: float) -> None:
        with suppress(OSError):
            while piece := await source.read(65536):
                await asyncio.sleep(delay_s)
                sink.write(piece)
                await sink.drain()
        sink.close()
        with suppress(OSError):
            await sink.wait_closed()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        both = asyncio.gather(carry(reader, back, 0.0), carry(there, writer, delay_s))
        carrying.append(both)
        await both

    carrying: list[asyncio.Future[list[None]]] = []

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    await asyncio.gather(*carrying)


async def test_a_redis_that_is_always_late_goes_down_once(redis_server: RedisServer) -> None:
    async with behind_a_slow_line(redis_server.port, delay_s=0.1) as port:
        link = Link(f"redis://:{PASSWORD}@127.0.0.1:{port}", timeout_s=0.02)
        until, fell = time.monotonic() + 1, 0
        while time.monotonic() < until:
            before = link.up
            await link.ask(lambda redis: redis.ping())
            fell += before and not link.up
            await asyncio.sleep(0.002)
        await link.close()
    assert (fell, link.up, link.counts["faults"]) == (1, False, 5)


async def test_the_service_starts_without_a_reachable_redis(redis_server: RedisServer) -> None:
    redis_server.kill()
    async with replica(redis_server, quota={"items": 2}) as one:
        assert [item["reward"] for item in await score(one, exact("4"), exact("5"))] == [1.0, 0.0]
        refused = await one.post("/v1/score", json={"items": [exact("6")]})
        assert (refused.status_code, refused.json()["quota"]) == (429, "items"), "quotas hold, replica by replica"
