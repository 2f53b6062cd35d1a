"""Combine the rewards of parts. Sums are exactly rounded (`math.fsum`), so the order of parts does not matter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from assay.contract.references.composite import Combine, Part
from assay.verifiers.errors import InvalidReference


def check(combine: Combine, names: Sequence[str]) -> None:
    """Raise `InvalidReference` if the options of `combine` do not fit together."""
    if (combine.op == "gate") != bool(combine.gates):
        raise InvalidReference("`gates` must be given with op gate, and only with it", field="combine.gates")
    for gate in combine.gates or ():
        if gate.part not in names:
            raise InvalidReference("not the name of a part", field="combine.gates.part")
    if combine.clip is not None and combine.clip[0] > combine.clip[1]:
        raise InvalidReference("the lower bound is above the upper one", field="combine.clip")


def combined(combine: Combine, parts: Sequence[Part], rewards: Mapping[str, float]) -> tuple[float, str | None]:
    """Return the reward, and the part whose gate is closed, if any. Raises `InvalidReference` if the reward is not
    finite.
    """
    closed = None
    if combine.op == "product":
        reward = math.prod(rewards[part.name] for part in parts)
    elif combine.op == "min":
        reward = min(rewards[part.name] for part in parts)
    else:
        reward, closed = _gated(combine, _sum(parts, rewards), rewards)
    if combine.clip is not None:
        reward = min(max(reward, combine.clip[0]), combine.clip[1])
    if not math.isfinite(reward):
        raise InvalidReference("the weighted sum of the rewards is not finite", field="combine")
    return reward, closed


def _sum(parts: Sequence[Part], rewards: Mapping[str, float]) -> float:
    try:
        return math.fsum(part.weight * rewards[part.name] for part in parts)
    except (OverflowError, ValueError):
        return math.nan


def _gated(combine: Combine, total: float, rewards: Mapping[str, float]) -> tuple[float, str | None]:
    """Return the sum, or the `else` of the first closed gate."""
    for gate in combine.gates or ():
        if rewards[gate.part] < gate.min:
            return (min(0.0, total) if gate.else_ is None else gate.else_), gate.part
    return total, None
