"""The closing summary table, one line per verifier. Constant memory for files of any size.

Times are wall milliseconds of the verifier (`timing.run_ms`), in buckets 5 % apart, without cached results. The mean
reward is over the rows with a verdict: null is never counted as 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from assay.cli.escape import one_line

_STEP = math.log(1.05)
COLUMNS = (
    "verifier",
    "rows",
    "mean reward",
    "correct",
    "incorrect",
    "partial",
    "shaped",
    "no verdict",
    "p50 ms",
    "p95 ms",
)
_OUTCOMES = ("correct", "incorrect", "partial", "shaped", "no_verdict")


class Quantiles:
    """A histogram on a logarithmic scale that gives quantiles within 5 %."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()

    def add(self, value: float) -> None:
        """Count one positive value."""
        self._buckets[math.floor(math.log(max(value, 1e-3)) / _STEP)] += 1

    def at(self, share: float) -> float | None:
        """Return the value below which `share` of all values lie, or None if there are none."""
        total = self._buckets.total()
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= share * total:
                return math.exp((bucket + 0.5) * _STEP)
        return None


@dataclass
class Tally:
    """Counts of one verifier's rows."""

    rows: int = 0
    rewards: float = 0.0
    rewarded: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    times: Quantiles = field(default_factory=Quantiles)

    def add(self, result: Mapping[str, Any]) -> None:
        """Count one result."""
        self.rows += 1
        self.outcomes[str(result.get("outcome"))] += 1
        if result.get("reward") is not None:
            self.rewards += result["reward"]
            self.rewarded += 1
            if not result.get("cached"):
                self.times.add((result.get("timing") or {}).get("run_ms") or 0.0)

    def cells(self, name: str) -> list[str]:
        """Return the cells of its table row."""
        mean = f"{self.rewards / self.rewarded:.4f}" if self.rewarded else "-"
        quantiles = (self.times.at(0.5), self.times.at(0.95))
        times = ["-" if value is None else f"{value:.2f}" for value in quantiles]
        return [name, str(self.rows), mean, *(str(self.outcomes[key]) for key in _OUTCOMES), *times]


class Summary:
    """Counts per verifier and per error of a run."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.retryable = 0
        self.errors: Counter[str] = Counter()

    @property
    def rows(self) -> int:
        """Number of rows with a result."""
        return sum(tally.rows for tally in self.tallies.values())

    def add(self, result: Mapping[str, Any]) -> None:
        """Count one result."""
        name = str(result.get("verifier"))
        tally = self.tallies.get(name)
        if tally is None:
            tally = self.tallies[name] = Tally()
        tally.add(result)
        error = result.get("error")
        if error:
            self.errors[str(error.get("code"))] += 1
            self.retryable += bool(error.get("retryable"))

    def print(self, out: TextIO) -> None:
        """Write the table, and a line per error code."""
        rows = [tally.cells(one_line(name)) for name, tally in sorted(self.tallies.items())]
        write_table(out, COLUMNS, rows)
        for code, count in sorted(self.errors.items()):
            out.write(f"no verdict: {count} × {one_line(code)}\n")


def write_table(out: TextIO, columns: Iterable[str], rows: Iterable[list[str]]) -> None:
    """Write an aligned table: the first column to the left, the others to the right."""
    table = [list(columns), *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        out.write("  ".join(cells).rstrip() + "\n")
