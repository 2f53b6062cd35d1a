"""`timings.json`: what generation, publication and verdicts took in a run. `assay train simulate` reads it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.pool.timings import Timings

FILE = "timings.json"
KEPT = 4096
"""Latencies that are kept, chosen evenly among all (reservoir sampling)."""


class Measured:
    """The timings of a run."""

    def __init__(self) -> None:
        self._random = random.Random(0)
        self._seen = 0
        self.verdicts_s: list[float] = []

    def add_verdicts(self, latencies_s: Iterable[float]) -> None:
        """Add seconds from sending to verdict."""
        for latency in latencies_s:
            self._seen += 1
            if len(self.verdicts_s) < KEPT:
                self.verdicts_s.append(latency)
            elif (place := self._random.randrange(self._seen)) < KEPT:
                self.verdicts_s[place] = latency

    def write(self, out: Path, pool: Timings) -> None:
        """Write the file into the folder of the run."""
        content = {"pool": pool.fields(), "verdicts_s": [round(one, 6) for one in self.verdicts_s]}
        (out / FILE).write_text(json.dumps(content), encoding="utf-8")


def read_timings(out: Path) -> tuple[Timings, list[float]]:
    """Return the timings of a run's pool and its latencies of verdicts. Raises ConfigurationError."""
    try:
        content = json.loads((out / FILE).read_text(encoding="utf-8"))
        return Timings.of(content["pool"]), [float(one) for one in content["verdicts_s"]]
    except OSError as error:
        raise ConfigurationError(f"{out / FILE}: {error.strerror}; a run with regime.workers writes it") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(f"{out / FILE}: not the timings of a run") from None
