"""gRPC and HTTP in one `assay serve`: both drain on shutdown, and both check access."""

import asyncio
import json
import os
import signal
import socket
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from assay.client import AsyncClient, ServiceUnavailable

from ._service import answers, assay, free_port, serving

NO_SANDBOX = {"ASSAY_SANDBOX_BACKENDS": "[]"}


def items(word: str, count: int) -> list[dict[str, Any]]:
    reference = {"word": "yes", "batch": word}
    return [{"verifier": "slow", "completion": "yes", "reference": reference | {"n": n}} for n in range(count)]


async def test_sigterm_drains_http_and_grpc() -> None:
    port, rpc = free_port(), free_port()
    with serving(port, **NO_SANDBOX, ASSAY_GRPC_PORT=str(rpc)) as server:
        async with AsyncClient(f"http://127.0.0.1:{port}") as http, AsyncClient(f"grpc://127.0.0.1:{rpc}") as called:
            for one in (http, called):
                await one.score(items("warm", 1))
            first = [asyncio.create_task(one.score(items(str(one), 1500))) for one in (http, called)]
            while json.loads(await http.get("/readyz"))["queue_depth"] <= 1500:  # more than one of the two has sent
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            os.kill(server.pid, signal.SIGTERM)
            await asyncio.sleep(0.3)
            assert not any(task.done() for task in first), [task for task in first if task.done()]
            async with AsyncClient(f"grpc://127.0.0.1:{rpc}", tries=1) as late:
                with pytest.raises(ServiceUnavailable):
                    await late.score(items("late", 1))
            told = await asyncio.gather(*first)
    assert [[result.reward for result in results] for results in told] == [[1.0] * 1500] * 2


async def test_what_is_not_finished_in_time_is_retryable_and_no_error_page() -> None:
    port = free_port()
    with serving(port, **NO_SANDBOX, ASSAY_DRAIN_S="0.2") as server:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
            await http.post("/v1/score", json={"items": items("warm", 1)})
            asked = asyncio.create_task(http.post("/v1/score", json={"items": items("long", 3000)}))
            while (await http.get("/readyz")).json()["queue_depth"] < 1500:
                await asyncio.sleep(0.01)
            os.kill(server.pid, signal.SIGTERM)
            answer = await asked
    results = answer.json()["results"]
    assert answer.status_code == 200 and len(results) == 3000
    left = [result for result in results if result["reward"] is None]
    assert left and all(result["error"]["retryable"] for result in left)
    assert all(result["reward"] == 1.0 for result in results if result["reward"] is not None)


async def test_a_lame_duck_says_so_and_still_scores() -> None:
    port = free_port()
    with serving(port, **NO_SANDBOX, ASSAY_LAME_DUCK_S="3") as server:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
            os.kill(server.pid, signal.SIGTERM)
            while (ready := await http.get("/readyz")).status_code == 200:
                await asyncio.sleep(0.01)
            assert ready.json()["cause"] == "shutting down"
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as late:
                answer = await late.post("/v1/score", json={"items": items("late", 1)})
    assert answer.json()["results"][0]["reward"] == 1.0


def test_an_endless_head_is_refused_before_the_key_is_checked() -> None:
    port = free_port()
    with serving(port, **NO_SANDBOX) as server, socket.create_connection(("127.0.0.1", port), timeout=20) as stranger:
        before = server.memory_info().rss
        stranger.sendall(b"POST /v1/score HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        with pytest.raises(OSError):
            for _ in range(2000):
                stranger.sendall(b"a" * 65536)
        assert server.memory_info().rss - before < 40 << 20 and answers(port)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_grpc_beside_a_unix_socket_requires_keys(host: str, tmp_path: Path) -> None:
    with assay("serve", "--uds", str(tmp_path / "s"), "--grpc-port", "0", ASSAY_HOST=host, **NO_SANDBOX) as server:
        _, said = server.communicate(timeout=60)
    assert server.returncode == 2 and "ASSAY_KEYS" in said


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")
async def test_grpc_is_served_at_an_ipv6_address() -> None:
    rpc = free_port()
    with assay(
        "serve", "--host", "::1", "--port", "0", "--grpc-port", str(rpc), "--lanes", "1", **NO_SANDBOX
    ) as server:
        async with grpc.aio.insecure_channel(f"[::1]:{rpc}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)  # type: ignore[no-untyped-call]
            answer = await stub.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=60)
        server.kill()
        server.communicate()
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
