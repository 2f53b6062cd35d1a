"""How the rewards of parts combine. Sums are exactly rounded (`math.fsum`), so the order of parts does not count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from assay.contract.references.composite import Combine, Part
from assay.verifiers.errors import InvalidReference


def check(combine: Combine, names: Sequence[str]) -> None:
    """Raises `InvalidReference` for options that do not fit together."""
    if (combine.op == "gate") != bool(combine.gates):
        raise InvalidReference("gates go with op gate, and it with them", field="combine.gates")
    for gate in combine.gates or ():
        if gate.part not in names:
            raise InvalidReference("no such part", field="combine.gates.part")
    if combine.clip is not None and combine.clip[0] > combine.clip[1]:
        raise InvalidReference("low, then high", field="combine.clip")


def combined(combine: Combine, parts: Sequence[Part], rewards: Mapping[str, float]) -> tuple[float, str | None]:
    """The reward, and the part whose gate stayed closed. Raises `InvalidReference` where it is not finite."""
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
        raise InvalidReference("weights and rewards make no finite sum", field="combine")
    return reward, closed


def _sum(parts: Sequence[Part], rewards: Mapping[str, float]) -> float:
    try:
        return math.fsum(part.weight * rewards[part.name] for part in parts)
    except (OverflowError, ValueError):
        return math.nan


def _gated(combine: Combine, total: float, rewards: Mapping[str, float]) -> tuple[float, str | None]:
    """The sum, or the `else` of the first gate that is closed."""
    for gate in combine.gates or ():
        if rewards[gate.part] < gate.min:
            return (min(0.0, total) if gate.else_ is None else gate.else_), gate.part
    return total, None
