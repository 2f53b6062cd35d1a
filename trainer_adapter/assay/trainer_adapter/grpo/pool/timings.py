"""Seconds that generation takes, measured where it runs: what a simulation of other settings is calibrated with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Line:
    """Sums of points (x, y), from which y = base + slope * x is fitted by least squares."""

    n: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def add(self, x: float, y: float) -> None:
        """Add a point."""
        self += Line(1.0, x, y, x * x, x * y)

    def __iadd__(self, other: Line) -> Line:
        self.n, self.x, self.y = self.n + other.n, self.x + other.x, self.y + other.y
        self.xx, self.xy = self.xx + other.xx, self.xy + other.xy
        return self

    def fit(self) -> tuple[float, float]:
        """Return base and slope, neither below 0; the mean and 0 where x hardly varies; zeros without a point."""
        if not self.n:
            return 0.0, 0.0
        spread = self.xx - self.x * self.x / self.n
        slope = (self.xy - self.x * self.y / self.n) / spread if spread > 1e-9 * max(1.0, self.xx) else 0.0
        slope = max(0.0, slope)
        base = (self.y - slope * self.x) / self.n
        return (base, slope) if base >= 0 else (0.0, self.y / self.x)

    @property
    def mean(self) -> float:
        """Mean of y, 0 without a point."""
        return self.y / self.n if self.n else 0.0


@dataclass
class Timings:
    """Seconds of a worker: `decode` of a step by its sequences, `prefill` by its groups, `load` of a version's weights.

    `publish`: seconds in which the trainer writes a version.
    """

    decode: Line = field(default_factory=Line)
    prefill: Line = field(default_factory=Line)
    load: Line = field(default_factory=Line)
    publish: Line = field(default_factory=Line)

    def __iadd__(self, other: Timings) -> Timings:
        self.decode += other.decode
        self.prefill += other.prefill
        self.load += other.load
        self.publish += other.publish
        return self

    def fields(self) -> dict[str, Any]:
        """Return the sums as a JSON object."""
        return asdict(self)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Timings:
        """Return the timings of such an object."""
        return cls(**{name: Line(**sums) for name, sums in fields.items()})
