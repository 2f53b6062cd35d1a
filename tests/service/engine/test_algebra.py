"""Computer algebra runs in a lane of its own: its overrun costs only its own item, and nothing waits for it."""

import asyncio
import time
from typing import Any

import pytest

from assay.service.engine.kinds import LaneKind

from .conftest import running

pytestmark = pytest.mark.asyncio(loop_scope="module")
SLOW = r"\int_0^\infty \frac{\sin(x^2+\sqrt{x^5+x+1})}{x^{7/3}+\ln(x+2)} dx"


def answered(answer: str, gold: str) -> dict[str, Any]:
    return {"verifier": "math", "completion": f"\\boxed{{{answer}}}", "reference": {"answer": gold}}


async def test_sums_and_limits_are_decided_in_an_algebra_lane() -> None:
    async with running() as ask:
        assert not ask.engine.lanes.ready(LaneKind.ALGEBRA)
        rows = [
            answered(r"\sum_{n=0}^\infty \frac{1}{n!}", "e"),
            answered(r"\lim_{x\to 0}\frac{\sin x}{x}=1", "1"),
            answered(r"\sum_{n=0}^\infty \frac{1}{n!}", "3"),
        ]
        results = await asyncio.wait_for(ask.finish(ask.submit(rows)), 120)
        assert [r["reward"] for r in results] == [1.0, 1.0, 0.0]
        assert len(ask.engine.lanes.ready(LaneKind.ALGEBRA)) == 1


async def test_an_overrun_is_undecided_is_not_cached_and_delays_no_text_item() -> None:
    async with running() as ask:
        slow = ask.submit([answered(SLOW, str(n)) for n in range(3)], owner="slow")
        await asyncio.sleep(0.1)
        started = time.monotonic()
        cheap = await asyncio.wait_for(ask.finish(ask.submit([answered("5", "5")] * 64, owner="cheap")), 60)
        assert time.monotonic() - started < 10
        assert {r["reward"] for r in cheap} == {1.0}
        results = await asyncio.wait_for(ask.finish(slow), 200)
        assert {(r["reward"], r["reason"]) for r in results} <= {(0.0, "undecided"), (0.0, "resource_limit")}
        if any(r["reason"] == "undecided" for r in results):
            again = await asyncio.wait_for(ask.finish(ask.submit([answered(SLOW, "0")], owner="slow")), 120)
            assert again[0]["cached"] is False


async def test_an_engine_that_closes_while_a_lane_connects_leaves_no_socket_open() -> None:
    async with running() as ask:
        ask.engine.lanes.open(LaneKind.ALGEBRA, 1)
        (lane,) = (lane for lane in ask.engine.lanes.alive if lane.kind is LaneKind.ALGEBRA)
    assert lane.socket.fileno() == -1
