"""A grade: what a trainer's face knows of one completion, a verdict or whose fault it is that there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from assay.contract.result import Result

Fault = Literal["row", "ours"]
"""`row`: sending it again cannot help. `ours`: it may, and was tried until the deadline."""


@dataclass(frozen=True)
class Grade:
    """One completion's. `reward` is finite, or None exactly where `fault` says whose fault that is."""

    reward: float | None
    score: float | None
    reason: str
    fault: Fault | None = None
    detail: str = ""
    field: str | None = None
    result: Result | None = None

    @property
    def correct(self) -> float:
        """1.0 for a score of 1, else 0.0."""
        return float(self.score == 1)

    @classmethod
    def of(cls, result: Result) -> Grade:
        """Return what a result amounts to."""
        if result.reward is not None:
            return cls(result.reward, result.score, result.reason, result=result)
        fault: Fault = "ours" if result.retryable else "row"
        detail, field = (result.error.message, result.error.field) if result.error else ("", None)
        return cls(None, None, result.reason, fault, detail, field, result)

    @classmethod
    def of_row(cls, detail: str) -> Grade:
        """No verdict: the row's own fault, seen before anything was sent."""
        return cls(None, None, "invalid_item", "row", detail)

    @classmethod
    def of_outage(cls, detail: str) -> Grade:
        """No verdict: no service gave an answer in time."""
        return cls(None, None, "service_unavailable", "ours", detail)


@dataclass(frozen=True)
class Tally:
    """What a batch amounts to; every field is always there and finite."""

    items: int
    graded: int
    row_faults: int
    outages: int
    reasons: Counter[str]
    """Why there is no verdict, by code."""

    @classmethod
    def of(cls, grades: Iterable[Grade]) -> Tally:
        """Count."""
        grades = list(grades)
        row = sum(grade.fault == "row" for grade in grades)
        ours = sum(grade.fault == "ours" for grade in grades)
        reasons = Counter(grade.reason for grade in grades if grade.fault)
        return cls(len(grades), len(grades) - row - ours, row, ours, reasons)

    def rates(self) -> dict[str, float]:
        """Shares of the batch, for a trainer's metrics: a fixed set of names."""
        whole = max(self.items, 1)
        return {
            "graded": self.graded / whole,
            "row_faults": self.row_faults / whole,
            "outages": self.outages / whole,
        }
