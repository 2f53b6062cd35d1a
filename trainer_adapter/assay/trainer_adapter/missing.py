"""What a trainer gets if there is no verdict: a choice by name. Never a 0 unless asked for.

    fault      choices (the first that the trainer accepts is the default)
    row        abstain   None, if the trainer supports abstaining
               constant  one number for the whole group: no gradient under a group baseline
               raise     stop the run
               zero      0.0, indistinguishable from a wrong answer
    outage     abstain   as above
               raise     stop the run; `Ungraded` says what was missing
               mean      the mean of the verdicts in the same group; raises if the group has none
               zero      as above

A row's fault under `constant` makes its whole group constant, and the group's verdicts are discarded. An outage counts
only after retries up to the deadline. Adapters that get single samples do not know the group.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.client import AssayError, ConfigurationError
from assay.trainer_adapter.grades import Grade, Tally

RowPolicy = Literal["abstain", "constant", "raise", "zero"]
OutagePolicy = Literal["abstain", "raise", "mean", "zero"]
_ROW, _OUTAGE = ("abstain", "constant", "raise", "zero"), ("abstain", "raise", "mean", "zero")


class Ungraded(AssayError):
    """There is no verdict, and the settings say to stop."""


@dataclass(frozen=True)
class AbstainPolicy:
    """The choice per kind of fault. `constant` is by default neither right nor wrong."""

    row: RowPolicy = "abstain"
    outage: OutagePolicy = "abstain"
    constant: float = 0.5

    def __post_init__(self) -> None:
        if self.row not in _ROW or self.outage not in _OUTAGE or not math.isfinite(self.constant):
            raise ConfigurationError(f"row: {', '.join(_ROW)}; outage: {', '.join(_OUTAGE)}; constant: a finite number")

    @property
    def grouped(self) -> bool:
        """Whether it matters which completions share a prompt."""
        return self.row == "constant" or self.outage == "mean"

    @property
    def abstains(self) -> bool:
        """Whether rewards may be None."""
        return "abstain" in (self.row, self.outage)

    def rewards(self, grades: Sequence[Grade], groups: Sequence[Hashable] | None = None) -> list[float | None]:
        """Return one finite number or None per grade. Without `groups`, each completion is its own group.

        Raises `Ungraded` if a choice is `raise`.
        """
        self._stop(grades)
        keys = range(len(grades)) if groups is None else groups
        members: dict[Hashable, list[Grade]] = {}
        for key, grade in zip(keys, grades, strict=True):
            members.setdefault(key, []).append(grade)
        fills = {key: self._fill(group) for key, group in members.items()}
        return [self._reward(grade, *fills[key]) for key, grade in zip(keys, grades, strict=True)]

    def _stop(self, grades: Sequence[Grade]) -> None:
        for fault, choice in (("service", self.outage), ("row", self.row)):
            guilty = [grade for grade in grades if grade.fault == fault]
            if guilty and choice == "raise":
                raise ungraded(guilty, of=len(grades))

    def _fill(self, group: Sequence[Grade]) -> tuple[bool, float | None]:
        """Return whether the whole group is constant, and the value for outages in it."""
        constant = self.row == "constant" and any(grade.fault == "row" for grade in group)
        lost = [grade for grade in group if grade.fault == "service"]
        if self.outage != "mean" or constant or not lost:
            return constant, 0.0 if self.outage == "zero" else None
        verdicts = [grade.reward for grade in group if grade.reward is not None]
        if not verdicts:
            raise ungraded(lost, of=len(group))
        return False, math.fsum(verdicts) / len(verdicts)

    def _reward(self, grade: Grade, constant: bool, outage: float | None) -> float | None:
        if constant:
            return self.constant
        if grade.fault == "row":
            return 0.0 if self.row == "zero" else None
        return outage if grade.fault == "service" else grade.reward


def ungraded(grades: Sequence[Grade], *, of: int) -> Ungraded:
    """Return the error that says how many completions have no verdict, and why."""
    reasons = ", ".join(f"{code} {count}" for code, count in Tally.of(grades).reasons.most_common(5))
    detail = next((grade.detail for grade in grades if grade.detail), "")
    return Ungraded(f"{len(grades)} of {of} completions have no verdict: {reasons}; {detail[:300]}")
