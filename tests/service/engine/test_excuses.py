"""The excuse suite: nothing that a completion does buys it a null, and nobody else pays for it."""

import json

import pytest

from .conftest import Asker, item

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUICK = ["abort", "segv", "exit0", "exit1", "system_exit", "raise", "memory", "recursion", "fork", "exec"]
CONFINED = ["subprocess", "socket", "write", "read_secrets"]
SLOW = ["memory_slow", "spin", "swallow", "close_fds"]


@pytest.mark.parametrize("attack", QUICK + CONFINED + SLOW)
async def test_no_completion_gets_itself_excused(ask: Asker, attack: str) -> None:
    (result,) = await ask(item(attack, options={"cpu_s": 0.3}))
    assert (result["reward"], result["outcome"]) == (0, "incorrect"), result


async def test_a_loop_in_c_is_ended_from_outside(ask: Asker) -> None:
    (result,) = await ask(item("spin_in_c", options={"cpu_s": 0.1}))
    assert (result["reward"], result["reason"]) == (0, "resource_limit")


@pytest.mark.parametrize("attack", QUICK)
async def test_poison_among_63_good_ones(ask: Asker, attack: str) -> None:
    rows = [item(f"x {attack} {n}") for n in range(63)]
    rows.insert(31, item(attack + ""))
    results = await ask(*rows)
    assert [r["reward"] for r in results] == [1.0] * 31 + [0.0] + [1.0] * 32


async def test_all_poisons_at_once(ask: Asker) -> None:
    rows = [item(attack, options={"cpu_s": 0.2}) for attack in QUICK + SLOW] + [item(f"x {n}") for n in range(50)]
    rewards = [r["reward"] for r in await ask(*rows)]
    assert rewards == [0.0] * len(QUICK + SLOW) + [1.0] * 50


@pytest.mark.parametrize(
    ("verifier", "code"), [("broken", "verifier_error"), ("unbounded", "verifier_error"), ("deadly", "worker_lost")]
)
async def test_a_verifier_that_fails_on_everything_is_not_the_completions_fault(
    ask: Asker, verifier: str, code: str
) -> None:
    (result,) = await ask(item("x", verifier))
    assert result["reward"] is None and result["error"]["code"] == code


@pytest.mark.parametrize("attack", ["abort", "raise", "memory", "recursion", "exit0", "spin"])
async def test_a_reference_that_breaks_prepare_refuses_the_row(ask: Asker, attack: str) -> None:
    bad, good = await ask(item("a", "picky", {"prepare": attack}), item("x"))
    assert (bad["reward"], bad["error"]["code"]) == (None, "invalid_reference")
    assert good["reward"] == 1


async def test_what_a_lane_can_still_do_afterwards(ask: Asker) -> None:
    results = await ask(*[item(f"x again {n}") for n in range(200)])
    assert {r["reward"] for r in results} == {1.0}


async def test_lanes_see_nothing_of_the_callers_environment(ask: Asker) -> None:
    (result,) = await ask(item("", "environment"))
    assert result["reward"] == 1


@pytest.mark.parametrize("number", ["1e999", "1e-99999999999999999999", "0." + "1" * 5000])
async def test_no_number_in_a_call_excuses_it(ask: Asker, number: str) -> None:
    call = {"function": {"name": "f", "arguments": {"x": "NUMBER"}}}
    row = item([{"role": "assistant", "tool_calls": [call]}], "tool", {"expect": {"no_call": True}})
    body = json.dumps({"items": [row]}).replace('"NUMBER"', number).encode()
    (result,) = await ask.finish(ask.engine.submit(ask.engine.intake.read_json(body, owner="")))
    assert (result["reward"], result["reason"]) == (0, "malformed_call")


async def test_a_number_that_no_float_holds_is_judged_and_reported(ask: Asker) -> None:
    rows = [item("3.14159265358979323846", "schema", {"schema": {"type": "number"}, "gold": "GOLD"})]
    rows.append(item("x", "given", {"name": "j"}, scores={"j": "GOLD"}))
    body = json.dumps({"items": rows}).replace('"GOLD"', "3.14159265358979323846").encode()
    results = await ask.finish(ask.engine.submit(ask.engine.intake.read_json(body, owner="")))
    assert [(r["reward"], r["extracted"]) for r in results] == [(1, 3.141592653589793), (3.141592653589793,) * 2]
