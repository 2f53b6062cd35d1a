"""The figures that a simulation uses: from the table `[simulate]`, else from a run that was measured."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.buffer import lengths_of
from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.regime.measured import read_timings
from assay.trainer_adapter.grpo.regime.rollouts import FILE as BUFFER
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.grpo.run.records import METRICS, read_lines
from assay.trainer_adapter.grpo.run.report import mean_of
from assay.trainer_adapter.grpo.simulate.settings import Lengths, Simulate, Spread

Draw = Callable[[random.Random], float]
DrawGroup = Callable[[random.Random, int], list[int]]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Seconds as in `[simulate]`. `lengths`: draws the tokens of a group's samples. `verdict_s`: draws a latency."""

    lengths: DrawGroup
    verdict_s: Draw
    step_s: float
    sequence_s: float
    prefill_s: float
    load_s: float
    publish_s: float
    update_s: float
    update_token_s: float
    zero_variance: float


NEEDED = (
    "lengths",
    "verdict_s",
    "step_s",
    "sequence_s",
    "prefill_s",
    "load_s",
    "publish_s",
    "update_s",
    "update_token_s",
    "zero_variance",
)


def figures_of(run: Run, measured: Path | None) -> Figures:
    """Return the figures of a run's `[simulate]`, over those of a measured run. Raises ConfigurationError."""
    table = run.simulate
    given: dict[str, object] = {
        name: value for name in NEEDED if (value := getattr(table, name)) is not None and not isinstance(value, Spread)
    }
    given |= _spreads(table, run.rollout.max_tokens)
    known = _measured(measured, run.rollout.max_tokens) if measured is not None else {}
    missing = [name for name in NEEDED if name not in given and name not in known]
    if missing:
        names = ", ".join(f"simulate.{name}" for name in missing)
        raise ConfigurationError(f"{names}: give them, or --measured with the folder of a run to take them from")
    return Figures(**{**known, **given})  # type: ignore[arg-type]


def _spreads(table: Simulate, limit: int) -> dict[str, object]:
    found: dict[str, object] = {}
    if table.lengths is not None:
        found["lengths"] = _lengths(table.lengths, limit)
    if table.verdict_s is not None:
        spread = table.verdict_s
        found["verdict_s"] = lambda dice: _value(spread, dice.gauss(0, 1))
    return found


def _value(spread: Spread, z: float) -> float:
    value = spread.median * math.exp(spread.sigma * z)
    return value if spread.max is None else min(value, spread.max)


def _lengths(spread: Lengths, limit: int) -> DrawGroup:
    common, own = math.sqrt(spread.shared), math.sqrt(1 - spread.shared)

    def draw(dice: random.Random, count: int) -> list[int]:
        z = common * dice.gauss(0, 1)
        return [min(limit, max(1, round(_value(spread, z + own * dice.gauss(0, 1))))) for _ in range(count)]

    return draw


def _measured(out: Path, limit: int) -> dict[str, object]:
    """Return all figures of a run's folder."""
    pool, latencies = read_timings(out)
    step_s, sequence_s = pool.decode.fit()
    lines = read_lines(out / METRICS)
    publish_s = pool.publish.mean
    if not lines or not pool.decode.n or not latencies:
        raise ConfigurationError(f"{out}: no step is recorded, or no worker of regime.workers was measured")
    return {
        "lengths": _recorded(lengths_of(out / BUFFER), limit),
        "verdict_s": lambda dice: dice.choice(latencies),
        "step_s": step_s,
        "sequence_s": sequence_s,
        "prefill_s": pool.prefill.y / max(1.0, pool.prefill.x),
        "load_s": pool.load.mean,
        "publish_s": publish_s,
        "update_s": 0.0,
        "update_token_s": _update_token_s(lines, publish_s),
        "zero_variance": mean_of(lines, "zero_variance"),
    }


def _update_token_s(lines: Sequence[dict[str, float]], publish_s: float) -> float:
    """Return the seconds of an update for each token of its batch, trained or skipped."""
    seconds = tokens = 0.0
    for line in lines[1:] or lines:  # the first update compiles and allocates
        if line["tokens_trained"] and line["work_saved"] is not None and line["work_saved"] < 1:
            seconds += max(0.0, line["update_s"] - publish_s)
            tokens += line["tokens_trained"] / (1 - line["work_saved"])
    return seconds / tokens if tokens else 0.0


def _recorded(groups: Sequence[Sequence[int]], limit: int) -> DrawGroup:
    """Return a function that draws the lengths of recorded groups: whole, else with further samples of the same."""
    if not groups:
        raise ConfigurationError("the measured run has no group in its buffer")

    def draw(dice: random.Random, count: int) -> list[int]:
        group = dice.choice(groups)
        chosen = group if len(group) == count else dice.choices(group, k=count)
        return [min(limit, max(1, tokens)) for tokens in chosen]

    return draw
