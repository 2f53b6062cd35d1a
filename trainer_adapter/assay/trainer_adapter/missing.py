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

import asyncio
import math
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from assay.client import AssayError, ConfigurationError
from assay.trainer_adapter.grades import Grade, Tally

RowPolicy = Literal["abstain", "constant", "raise", "zero"]
OutagePolicy = Literal["abstain", "raise", "mean", "zero"]
_ROW, _OUTAGE = ("abstain", "constant", "raise", "zero"), ("abstain", "raise", "mean", "zero")


MAX_UNGRADED = 3
"""Batches in a row without a verdict after which a run stops."""


class Ungraded(AssayError):
    """There is no verdict, and the settings say to stop."""


class Stopped(BaseException):
    """There is no number to return and the run must stop; `__cause__` is the reason.

    Not an `Exception`, as trainers that turn every `Exception` of a reward into a number would train on it.
    """


@contextmanager
def stopping() -> Iterator[None]:
    """Raise any error (a misspelt setting, a function of the row) and a trainer's timeout as `Stopped`."""
    try:
        yield
    except AssayError as error:
        raise Stopped(str(error)) from error
    except Exception as error:
        raise Stopped(f"{type(error).__name__}: {error}") from error
    except asyncio.CancelledError as error:
        cure = "keep deadline_s below the trainer's timeout (verl: reward.timeout)"
        raise Stopped(f"cancelled before there was a verdict; {cure}") from error


class Outages:
    """Counts the batches in a row that got no verdict because of the service."""

    def __init__(self, limit: int = MAX_UNGRADED) -> None:
        self._limit = limit
        self._row, self._verdicts = 0, False

    def see(self, grades: Sequence[Grade]) -> None:
        """Take note of a batch. Raises `Ungraded` after `limit` of them, and at the first if no verdict ever came."""
        lost = [grade for grade in grades if grade.fault == "service"]
        if any(grade.fault is None for grade in grades):
            self._row, self._verdicts = 0, True
        elif lost:
            self._row += 1
            if self._row >= self._limit or not self._verdicts:
                raise ungraded(lost, of=len(grades))


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
