"""Batches: order, groups, deadlines, cancellation, single flight, the cache, a bounded queue, fair shares."""

import asyncio
import json
import time
from typing import Any

import pytest

from assay.service.engine.errors import Overloaded
from assay.service.engine.settings import Limits

from .conftest import Asker, item, running

ONE_AT_A_TIME = 0.001
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_results_come_in_order(ask: Asker) -> None:
    rows = [item(f"{'x' if n % 3 else 'y'} {n}", id=f"id-{n}") for n in range(300)]
    results = await ask(*rows)
    assert [r["id"] for r in results] == [row["id"] for row in rows]
    assert [r["reward"] for r in results] == [float(bool(n % 3)) for n in range(300)]


async def test_a_stream_tells_groups_whole(ask: Asker) -> None:
    rows = [item(f"x{n}", group=f"g{n % 3}") for n in range(30)] + [item("x alone")]
    submission = ask.submit(rows, owner="stream")
    told = []
    while sum(map(len, told)) < len(rows):
        told.append(await submission.arrivals())
    assert sorted(map(len, told)) == [1, 10, 10, 10]
    assert {tuple(n % 3 for n in group) for group in told if len(group) > 1} == {(k,) * 10 for k in range(3)}


async def test_what_expires_while_queued_is_deadline_and_what_runs_is_not() -> None:
    async with running(lanes=2, chunk_cpu_ms=ONE_AT_A_TIME) as ask:
        results = await ask(*[item(f"sleep 0.4 x{n}") for n in range(8)], deadline_s=0.2)
    started = [r for r in results if r["reward"] == 1]
    late = [r for r in results if r["reward"] is None]
    assert len(started) + len(late) == 8 and len(started) >= 2 and late
    assert {(r["error"]["code"], r["error"]["retryable"]) for r in late} == {("deadline", True)}


async def test_a_caller_that_leaves_frees_its_lanes(ask: Asker) -> None:
    leaving = ask.submit([item(f"sleep 20 {n}") for n in range(6)], owner="leaver")
    await asyncio.sleep(0.2)
    ask.engine.cancel(leaving)
    started = time.monotonic()
    (result,) = await ask(item("x after the leaver"))
    assert result["reward"] == 1 and time.monotonic() - started < 5


async def test_a_follower_outlives_the_leaders_cancel(ask: Asker) -> None:
    leader = ask.submit([item("sleep 0.5 x")], owner="flight")
    await asyncio.sleep(0.1)
    follower = ask.submit([item("sleep 0.5 x")], owner="flight")
    ask.engine.cancel(leader)
    (result,) = await ask.finish(follower)
    assert result["reward"] == 1 and not result["cached"]


async def test_a_follower_outlives_the_leaders_deadline() -> None:
    async with running(lanes=1, chunk_cpu_ms=ONE_AT_A_TIME) as ask:
        ask.submit([item("sleep 0.5")])
        leader = ask.submit([item("sleep 0.01 x")], deadline_s=0.1)
        follower = ask.submit([item("sleep 0.01 x")])
        (first,), (second,) = await ask.finish(leader), await ask.finish(follower)
    assert (first["reason"], second["reward"]) == ("deadline", 1)


async def test_one_run_for_equal_items(ask: Asker) -> None:
    results = await ask(*[item("sleep 0.2 x", id=str(n)) for n in range(50)], owner="single")
    assert {r["reward"] for r in results} == {1.0} and len({r["item_key"] for r in results}) == 1


async def test_a_no_verdict_is_neither_shared_nor_cached(ask: Asker) -> None:
    rows = [item("a", "picky", {"prepare": "raise"}, id=str(n)) for n in range(5)]
    for results in (await ask(*rows), await ask(*rows)):
        assert {(r["reason"], r["cached"]) for r in results} == {("invalid_reference", False)}


async def test_the_second_time_is_from_the_cache(ask: Asker) -> None:
    await ask(item("x cached", id="first"))
    (again,) = await ask(item("x cached", id="second"))
    assert (again["id"], again["reward"], again["cached"]) == ("second", 1, True)


async def test_owners_do_not_see_each_others_verdicts(ask: Asker) -> None:
    (mine,) = await ask(item("x owned"), owner="a")
    (theirs,) = await ask(item("x owned"), owner="b")
    assert not theirs["cached"] and mine["item_key"] != theirs["item_key"]


async def test_json_reaches_the_verifier_as_it_was_written(ask: Asker) -> None:
    big = 2**84
    state, scores = {"n": big, "f": 1.5}, {"judge": 0.25, "none": None}
    (result,) = await ask(item("a", "picky", {"gold": big}, final_state=state, scores=scores))
    assert result["extracted"] == {"state": state, "scores": scores, "spec": {"gold": big}}


async def test_a_full_queue_takes_nothing_of_a_batch() -> None:
    async with running(lanes=1, limits=Limits(queue_items=8)) as ask:
        first = ask.submit([item(f"sleep 0.2 x{n}") for n in range(8)])
        with pytest.raises(Overloaded) as refused:
            ask.submit([item(f"x{n}") for n in range(4)])
        assert 0 < refused.value.queue_depth <= 8 and refused.value.retry_after_s >= 1
        assert {r["reward"] for r in await ask.finish(first)} == {1.0}
        assert (await ask(item("x later")))[0]["reward"] == 1


async def test_a_small_batch_need_not_wait_for_a_large_one_of_somebody_else(ask: Asker) -> None:
    large = ask.submit([item(f"sleep 0.02 {n}") for n in range(300)], owner="large")
    started = time.monotonic()
    await ask(*[item(f"x small {n}") for n in range(10)], owner="small")
    assert time.monotonic() - started < 2 and large.open > 100
    ask.engine.cancel(large)


async def test_a_slow_item_does_not_hold_up_those_behind_it() -> None:
    async with running(lanes=2) as ask:
        await ask(*[item(f"x warm {n}") for n in range(200)])
        submission = ask.submit([item("burn 1.5 x")] + [item(f"x{n}") for n in range(60)])
        told = [(await submission.arrivals())[0] for _ in range(61)]
    assert told[-1] == 0 and sorted(told) == list(range(61))
    assert {scored.report.reward for scored in submission.results if scored and scored.report} == {1.0}


def keyed(ask: Asker, row: dict[str, Any], owner: str = "") -> str:
    from assay.service.engine.intake.keys import item_key
    from assay.service.engine.intake.work import Work

    entry = ask.engine.intake.read_json(json.dumps({"items": [row]}).encode(), owner=owner).entries[0]
    assert isinstance(entry, Work)
    return item_key(entry).hex()


BASE = item("a", "picky", {"gold": 1}, final_state={"a": 1}, scores={"j": 1})
CHANGES: dict[str, dict[str, Any]] = {
    "verifier": {"verifier": "obey"},
    "completion": {"completion": "b"},
    "completion as messages": {"completion": [{"role": "assistant", "content": "a"}]},
    "reference": {"reference": {"gold": 2}},
    "final_state": {"final_state": {"a": 2}},
    "no final_state": {"final_state": None},
    "scores": {"scores": {"j": 0.5}},
    "cpu_s": {"options": {"cpu_s": 1.5}},
    "timeout_s": {"options": {"timeout_s": 1.5}},
    "explain": {"options": {"explain": True}},
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_key_changes_whenever_the_verdict_may(ask: Asker, change: str) -> None:
    assert keyed(ask, BASE | CHANGES[change]) != keyed(ask, BASE)


async def test_the_key_changes_with_owner_and_version(ask: Asker) -> None:
    from dataclasses import replace

    before = keyed(ask, BASE)
    assert keyed(ask, BASE, owner="other") != before
    catalogue = dict(ask.engine.catalogue)
    catalogue["picky"] = replace(catalogue["picky"], version=2)
    newer = Asker.__new__(Asker)
    newer.engine = type("E", (), {"intake": replace(ask.engine.intake, catalogue=catalogue)})()  # type: ignore[assignment]
    assert keyed(newer, BASE) != before


@pytest.mark.parametrize(
    "label", [{"id": "z"}, {"group": "g"}, {"run": "r"}, {"step": 3}, {"prompt": "not read"}, {"truncated": True}]
)
async def test_the_key_does_not_change_with_what_is_not_read(ask: Asker, label: dict[str, Any]) -> None:
    assert keyed(ask, BASE | label) == keyed(ask, BASE)
