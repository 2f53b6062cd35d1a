"""Progress on stderr: a progress bar on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import sys
import time
from typing import Any

EVERY_S = 10.0


class Progress:
    """Show progress. `total_bytes`, the input's size if known, gives the share that is done."""

    def __init__(self, *, total_bytes: int | None, quiet: bool = False) -> None:
        self._total = total_bytes
        self._rows = self._bytes = 0
        self._start = self._last = time.monotonic()
        self._quiet = quiet
        self._bar: Any = None
        if not quiet and sys.stderr.isatty():
            self._bar = _bar()
            self._task = self._bar.add_task("scoring", total=total_bytes, rows="")

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif self._rows and not self._quiet:
            self._line()

    def add(self, *, rows: int, size: int) -> None:
        """Count rows that have been written."""
        self._rows += rows
        self._bytes += size
        if self._bar is not None:
            self._bar.update(self._task, completed=self._bytes, rows=f"{self._rows:,} rows, {self._rate():,.0f}/s")
        elif not self._quiet and time.monotonic() - self._last >= EVERY_S:
            self._last = time.monotonic()
            self._line()

    def _rate(self) -> float:
        return self._rows / max(time.monotonic() - self._start, 1e-6)

    def _line(self) -> None:
        share = f" ({min(1.0, self._bytes / self._total):.0%})" if self._total else ""
        print(f"assay: {self._rows} rows{share}, {self._rate():.0f}/s", file=sys.stderr, flush=True)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
