"""gRPC: the same verdicts, limits, keys and errors as HTTP; deadlines and cancellation down to the lane."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from assay.client import AsyncClient, RequestRefused
from assay.client.grpc_transport import to_request
from assay.contract import assay_pb2 as pb
from assay.service.auth import KeyRing
from assay.service.engine.engine import Engine
from assay.service.front import Front
from assay.service.rpc.server import SERVICE, serving_grpc
from assay.service.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")
PLUGIN = str(Path(__file__).parents[1] / "engine/hostile.py")
GOLD = {"mode": "string", "gold": "4", "extract": "whole"}


@asynccontextmanager
async def served(**more: Any) -> AsyncIterator[tuple[str, Engine]]:
    settings = Settings(lanes=2, warm=(), sandbox_backends=(), verifiers=(PLUGIN,), grpc_port=0, **more)
    engine = Engine(settings.engine())
    await engine.start()
    async with serving_grpc(Front(engine=engine), KeyRing(settings), settings) as port:
        yield f"127.0.0.1:{port}", engine
    await engine.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def address() -> AsyncIterator[str]:
    async with served() as (address, _):
        yield address


def item(completion: Any = "4", **fields: Any) -> dict[str, Any]:
    return {"verifier": "exact", "completion": completion, "reference": GOLD} | fields


async def test_verdicts_are_in_order_and_null_is_not_zero(address: str) -> None:
    async with AsyncClient(f"grpc://{address}") as client:
        results = await client.score(
            [item(), item("5"), item(verifier="?"), item([{"role": "assistant", "content": "4"}])]
        )
    assert [r.reward for r in results] == [1, 0, None, 1]
    assert results[2].error is not None and results[2].error.field == "verifier"
    assert results[0].extracted == "4" and results[0].span == (0, 1) and results[0].item_key


async def test_large_integers_and_state_survive(address: str) -> None:
    reference = {"mode": "number", "gold": 2**84, "extract": "whole"}
    state = {"n": 2**70, "f": 0.1}
    async with AsyncClient(f"grpc://{address}") as client:
        big, near = await client.score([item(str(2**84 + n), reference=reference) for n in (0, 1)])
        (picky,) = await client.score([item("a", verifier="picky", reference={"g": 2**64}, final_state=state)])
    assert (big.reward, near.reward) == (1, 0)
    assert picky.extracted["state"] == state and picky.extracted["spec"] == {"g": 2**64}


async def test_a_lone_surrogate_is_replaced_and_flagged(address: str) -> None:
    reference = GOLD | {"gold": "a\ufffdb"}
    async with AsyncClient(f"grpc://{address}") as client:
        (result,) = await client.score([item("a\ud800b", reference=reference)])
    assert (result.reward, result.flags) == (1, ("lone_surrogates",))


async def test_a_stream_comes_in_chunks_and_says_done(address: str) -> None:
    body = json.dumps({"items": [item(id=str(n), group=f"g{n // 4}") for n in range(16)]}).encode()
    async with grpc.aio.insecure_channel(address) as channel:
        call = channel.unary_stream(
            f"/{SERVICE}/ScoreStream", pb.ScoreRequest.SerializeToString, pb.ScoreChunk.FromString
        )
        chunks = [chunk async for chunk in call(to_request(body))]
    assert [len(c.results) for c in chunks] == [4, 4, 4, 4, 0]
    assert chunks[-1].done and chunks[-1].count == 16


async def test_the_client_streams_over_it(address: str) -> None:
    async with AsyncClient(f"grpc://{address}") as client:
        seen = [result.id async for result in client.stream([item(id=str(n)) for n in range(5)])]
    assert sorted(seen) == [str(n) for n in range(5)]


async def test_a_faulty_batch_is_refused_with_its_problem(address: str) -> None:
    async with AsyncClient(f"grpc://{address}") as client:
        with pytest.raises(RequestRefused) as refused:
            await client.score([item(), item()], defaults={"id": "a"})
    assert refused.value.problem.field == "defaults.id"


async def test_a_completion_over_the_limit_gets_0(address: str) -> None:
    async with AsyncClient(f"grpc://{address}") as client:
        results = await client.score([item(), item("x" * 5_000_000), item()])
    assert [r.reward for r in results] == [1, 0, 1]


async def test_a_message_over_the_servers_own_limit_gets_0() -> None:
    async with served(limits={"body_bytes": 100_000}) as (address, _), AsyncClient(f"grpc://{address}") as client:
        results = await client.score([item(), item("x" * 200_000), item()])
    assert [r.reward for r in results] == [1, 0, 1]


async def test_a_message_of_millions_of_items_is_refused_before_it_is_parsed(address: str) -> None:
    started = time.monotonic()
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await called(address, b"\x0a\x00" * 4_000_000)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT and time.monotonic() - started < 5


@pytest.mark.parametrize("body", [b"\xff" * 99, b"\x0a\xff\xff\xff\xff\x0f", b"\x0b" * 99, b"\x0a\x02\x0a\x05"])
async def test_an_invalid_message_is_refused(address: str, body: bytes) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await called(address, body)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_an_unknown_key_is_refused_before_the_message_is_parsed() -> None:
    async with served(keys=("open-sesame",)) as (address, _):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await called(address, b"\xff" * 99)
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def called(address: str, body: bytes) -> Any:
    async with grpc.aio.insecure_channel(address) as channel:
        return await channel.unary_unary(f"/{SERVICE}/Score", None, None)(body)


async def test_a_full_queue_sends_retry_after() -> None:
    async with served(limits={"queue_items": 2}) as (address, _):
        slow = [item("sleep 3 x", verifier="obey", reference={"word": "x", "n": n}) for n in range(2)]
        async with grpc.aio.insecure_channel(address) as channel:
            score = channel.unary_unary(
                f"/{SERVICE}/Score", pb.ScoreRequest.SerializeToString, pb.ScoreResponse.FromString
            )
            first = score(to_request(json.dumps({"items": slow}).encode()))
            await asyncio.sleep(0.3)
            with pytest.raises(grpc.aio.AioRpcError) as busy:
                await score(to_request(json.dumps({"items": [item()]}).encode()))
            first.cancel()
    assert busy.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    trailing = dict(busy.value.trailing_metadata() or ())
    assert int(trailing["retry-after"]) >= 1 and json.loads(trailing["assay-problem-bin"])["queue_depth"] == 2


async def test_a_client_that_leaves_frees_its_lanes(address: str) -> None:
    slow = [item("sleep 20", verifier="obey", reference={"word": "x", "n": n}) for n in range(2)]
    async with grpc.aio.insecure_channel(address) as channel:
        score = channel.unary_unary(f"/{SERVICE}/Score", pb.ScoreRequest.SerializeToString, pb.ScoreResponse.FromString)
        leaving = score(to_request(json.dumps({"items": slow}).encode()))
        await asyncio.sleep(0.3)
        leaving.cancel()
    started = time.monotonic()
    async with AsyncClient(f"grpc://{address}") as client:
        (result,) = await client.score([item("4 after")])
    assert result.reward == 0 and time.monotonic() - started < 8


async def test_a_clients_deadline_bounds_the_start() -> None:
    async with served() as (address, engine):
        blockers = [item("sleep 1", verifier="obey", reference={"word": "x", "n": n}) for n in range(60)]
        waiting = engine.submit(engine.intake.read_json(json.dumps({"items": blockers}).encode(), owner=""))
        request = to_request(json.dumps({"items": [item()], "deadline_s": 0.3}).encode())
        async with grpc.aio.insecure_channel(address) as channel:
            score = channel.unary_unary(
                f"/{SERVICE}/Score", pb.ScoreRequest.SerializeToString, pb.ScoreResponse.FromString
            )
            answer = await score(request)
        engine.cancel(waiting)
    (result,) = answer.results
    assert result.no_verdict.code == "deadline" and result.verdict.reward != result.verdict.reward


async def test_keys_are_required() -> None:
    async with served(keys=("open-sesame",)) as (address, _):
        async with AsyncClient(f"grpc://{address}", api_key="wrong") as client:
            with pytest.raises(RequestRefused):
                await client.score([item()])
        async with AsyncClient(f"grpc://{address}", api_key="open-sesame") as client:
            assert [r.reward for r in await client.score([item()])] == [1]


async def test_it_lists_verifiers_and_is_healthy(address: str) -> None:
    async with AsyncClient(f"grpc://{address}") as client:
        assert "exact" in {info.name for info in await client.verifiers()}
    async with grpc.aio.insecure_channel(address) as channel:
        health = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())  # type: ignore[no-untyped-call]
    assert health.status == health_pb2.HealthCheckResponse.SERVING
