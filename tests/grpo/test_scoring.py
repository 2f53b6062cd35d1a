"""Verdicts: no verdict is no reward, and what is no longer wanted is cancelled down to the sandbox."""

import asyncio
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.client import ConfigurationError, ServiceUnavailable
from assay.trainer_adapter.grpo.rollout.data import Draw, Prompt
from assay.trainer_adapter.grpo.rollout.outcome import live_draws, rewards_of
from assay.trainer_adapter.grpo.rollout.samples import Group, Sample
from assay.trainer_adapter.grpo.rollout.scoring import CANCELLED, SampleScorer, Scoring
from assay.trainer_adapter.grpo.run.config import Reward
from assay.trainer_adapter.missing import Ungraded

from ._tiny import judge_of, run_of


def draw(number: int, **row: Any) -> Draw:
    return Draw(number, Prompt({"question": "1+1=", "answer": "2", **row}, "1+1=", (1,)))


def sample(number: int, index: int, text: str) -> Sample:
    return Sample(number, index, [1, 2], [True, True], [-1.0, -1.0], text, truncated=False)


def judged(run: Any, judge: SampleScorer, texts: list[str], *, needed: int, extra: int = 0) -> tuple[Group, Scoring]:
    scoring = Scoring(judge, [draw(0)], needed=needed, extra=extra, step=3)
    for index, text in enumerate(texts):
        scoring.deliver(sample(0, index, text))
    (group,) = scoring.finish()
    return group, scoring


def test_an_item_says_what_a_verifier_may_read(paths: dict[str, str]) -> None:
    seen: list[dict[str, Any]] = []
    judge = judge_of(run_of(paths), lambda item: seen.append(item) or 1.0)
    judged(None, judge, ["2"], needed=1)
    about = {"group": "0", "step": 3, "run": "test", "prompt": "1+1=", "completion_tokens": 2, "truncated": False}
    assert seen[0].items() >= about.items() and seen[0]["reference"]["gold"] == "2" and seen[0]["completion"] == "2"


def test_no_verdict_is_nan_and_never_0(paths: dict[str, str]) -> None:
    judge = judge_of(run_of(paths), lambda item: None if item["completion"] == "?" else 1.0)
    group, _ = judged(None, judge, ["2", "?"], needed=2)
    rewards, scores = rewards_of(group.samples)
    assert rewards[0] == 1.0 and rewards[1].isnan() and scores[1].isnan()


def test_an_outage_abstains_or_stops_as_the_configuration_says(paths: dict[str, str]) -> None:
    def down(item: dict[str, Any]) -> Any:
        raise ServiceUnavailable("gone")

    group, _ = judged(None, judge_of(run_of(paths), down, deadline_s=0.3), ["2", "3"], needed=2)
    assert all(math.isnan(value) for value in rewards_of(group.samples)[0].tolist())
    stop = run_of(paths, "reward.on_outage=raise")
    with pytest.raises(Ungraded, match="2 of 2 completions have no verdict"):
        judged(None, judge_of(stop, down, deadline_s=0.3), ["2", "3"], needed=2)


def test_stragglers_are_cancelled_once_a_group_has_enough_verdicts(paths: dict[str, str]) -> None:
    events: list[str] = []

    async def slow(item: dict[str, Any]) -> float:
        if item["completion"] == "slow":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                events.append("cancelled at the service")
                raise
        return 1.0

    start = time.monotonic()
    group, scoring = judged(None, judge_of(run_of(paths), slow), ["2", "slow", "3"], needed=2, extra=1)
    assert [one.text for one in group.samples] == ["2", "3"] and scoring.cancelled == 1
    assert time.monotonic() - start < 30
    deadline = time.monotonic() + 10
    while not events and time.monotonic() < deadline:
        time.sleep(0.01)
    assert events == ["cancelled at the service"]


def test_an_outage_is_no_verdict_that_ends_the_stragglers(paths: dict[str, str]) -> None:
    async def some(item: dict[str, Any]) -> float | None:
        if item["completion"] == "?":
            return None
        await asyncio.sleep(0.5)
        return 1.0

    group, scoring = judged(None, judge_of(run_of(paths), some), ["?", "?", "2", "3"], needed=2, extra=2)
    assert [one.text for one in group.samples] == ["2", "3"] and scoring.cancelled == 0
    assert [one.grade.reward for one in group.samples if one.grade] == [1.0, 1.0]


def test_a_group_of_outages_ends_when_nothing_is_open(paths: dict[str, str]) -> None:
    start = time.monotonic()
    group, scoring = judged(None, judge_of(run_of(paths), lambda item: None), ["?"] * 3, needed=2, extra=1)
    assert scoring.cancelled == 0 and time.monotonic() - start < 20
    assert all(math.isnan(value) for value in rewards_of(group.samples)[0].tolist())


def test_patience_bounds_the_wait_for_verdicts(paths: dict[str, str]) -> None:
    async def slow(item: dict[str, Any]) -> float:
        await asyncio.sleep(60)
        return 1.0

    run = run_of(paths, "reward.patience_s=0.2")
    start = time.monotonic()
    group, scoring = judged(None, judge_of(run, slow), ["2", "3"], needed=2)
    assert time.monotonic() - start < 30 and scoring.cancelled == 2
    assert {one.grade.reason for one in group.samples if one.grade} == {CANCELLED}
    assert all(math.isnan(value) for value in rewards_of(group.samples)[0].tolist())


def test_cancellation_reaches_the_sandbox() -> None:
    """A program that sleeps for a minute: once the group has enough, its slot is free for the next program."""
    reward = Reward(
        verifier="code", url="embedded:", options={"lanes": 1}, deadline_s=120,
        reference={"language": "python", "mode": "stdio", "extract": "whole", "limits": {"wall_s": 60},
                   "tests": [{"stdin": "", "expected_stdout": "ok"}]},
    )  # fmt: skip
    judge = SampleScorer(reward, run="test")
    ready, _ = judged(None, judge, ["print('ok')"], needed=1)
    if ready.samples[0].grade is None or ready.samples[0].grade.reward is None:
        pytest.skip(f"no sandbox here: {ready.samples[0].grade}")
    scoring = Scoring(judge, [draw(0)], needed=1, extra=1, step=3)
    scoring.deliver(sample(0, 0, f"import time; time.sleep({NAP})"))
    assert until(sleepers), "the program never ran"
    start = time.monotonic()
    scoring.deliver(sample(0, 1, "print('ok')"))
    (group,) = scoring.finish()
    assert [one.grade.reward for one in group.samples if one.grade] == [1.0] and scoring.cancelled == 1
    assert until(lambda: not sleepers()), "the program goes on"
    assert time.monotonic() - start < 45


NAP = 60.0625
"""Seconds: longer than the test waits."""


def until(holds: Callable[[], object]) -> bool:
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(holds())


def sleepers() -> list[str]:
    """Processes that sleep in a jail's user ids: what a candidate's program does and nothing else of ours."""
    found = []
    for path in Path("/proc").glob("[0-9]*/syscall"):
        try:
            call = path.read_text().split()
        except OSError:
            continue
        if call and call[0] == "230" and path.parent.stat().st_uid != 0:  # clock_nanosleep, x86-64
            found.append(path.parent.name)
    return found


def test_a_group_is_live_by_its_scores(paths: dict[str, str]) -> None:
    shaped = {"a": {"reward": 0.3, "score": 0.0}, "b": {"reward": -0.2, "score": 0.0}}
    judge = judge_of(run_of(paths), lambda item: shaped[item["completion"]])
    group, _ = judged(None, judge, ["a", "b"], needed=2)
    assert live_draws([group], run_of(paths)) == [] and live_draws([], run_of(paths)) == []
    assert live_draws([group], run_of(paths, "algorithm.gate=reward")) == [0]


def test_a_template_that_names_no_column_stops_the_run(paths: dict[str, str]) -> None:
    judge = judge_of(run_of(paths, "reward.reference={gold='{nowhere}'}"))
    with pytest.raises(ConfigurationError, match="nowhere"):
        judged(None, judge, ["2"], needed=1)
