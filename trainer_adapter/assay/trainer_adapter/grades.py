"""A grade: an adapter's view of one result, which is a verdict, or whose fault it is that there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from assay.contract.result import Result

Fault = Literal["row", "service"]
"""`row`: sending the item again cannot help. `service`: it may help, and was tried until the deadline, or the item was
cancelled.
"""


@dataclass(frozen=True)
class Grade:
    """The grade of one completion. `reward` is finite, or None exactly if `fault` is set."""

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
        """Return the grade of a result."""
        if result.reward is not None:
            return cls(result.reward, result.score, result.reason, result=result)
        fault: Fault = "service" if result.retryable else "row"
        detail, field = (result.error.message, result.error.field) if result.error else ("", None)
        return cls(None, None, result.reason, fault, detail, field, result)

    @classmethod
    def of_row(cls, detail: str) -> Grade:
        """Return a grade without verdict for a row's fault found before sending."""
        return cls(None, None, "invalid_item", "row", detail)

    @classmethod
    def of_outage(cls, detail: str) -> Grade:
        """Return a grade without verdict because no service answered in time."""
        return cls(None, None, "service_unavailable", "service", detail)


@dataclass(frozen=True)
class Tally:
    """Counts of a batch. Every field is always present and finite."""

    items: int
    graded: int
    row_faults: int
    outages: int
    reasons: Counter[str]
    """Reasons for missing verdicts, counted by code."""

    @classmethod
    def of(cls, grades: Iterable[Grade]) -> Tally:
        """Count grades."""
        grades = list(grades)
        row = sum(grade.fault == "row" for grade in grades)
        service = sum(grade.fault == "service" for grade in grades)
        reasons = Counter(grade.reason for grade in grades if grade.fault)
        return cls(len(grades), len(grades) - row - service, row, service, reasons)

    def rates(self) -> dict[str, float]:
        """Return shares of the batch for a trainer's metrics, under fixed names."""
        whole = max(self.items, 1)
        return {
            "graded": self.graded / whole,
            "row_faults": self.row_faults / whole,
            "outages": self.outages / whole,
        }
