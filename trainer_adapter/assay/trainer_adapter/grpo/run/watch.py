"""Live progress on stderr: a table that is updated in place on a terminal, one line per step elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from assay.cli.escape import one_line

SHOWN = (
    ("reward", "reward_mean", "{:.3f}"), ("score", "score_mean", "{:.3f}"),
    ("zero-variance groups", "zero_variance", "{:.0%}"),
    ("length", "length_mean", "{:.1f} tokens"),
    ("truncated", "truncated", "{:.0%}"), ("KL to reference", "kl", "{:.4f}"),
    ("KL to rollout", "kl_rollout", "{:.2e}"),
    ("ESS token", "ess_token", "{:.3f}"), ("ESS sequence", "ess_sequence", "{:.3f}"),
    ("entropy", "entropy", "{:.3f}"), ("clipped", "clipped", "{:.1%}"), ("gradient norm", "grad_norm", "{:.3f}"),
    ("data lag, at most", "data_lag_max", "{:.0f} versions"), ("publication lag", "publication_lag", "{:.0f} versions"),
    ("no verdict", "ungraded", "{:.1%}"), ("work saved", "work_saved", "{:.0%}"),
    ("generated", "tokens_per_s", "{:,.0f} tokens/s"), ("verifier latency", "verify_p50_ms", "{:,.0f} ms"),
)  # fmt: skip
"""Lines of the table: label, metric, format."""
EVERY_S = 5.0


def _form(form: str, value: float | None) -> str:
    """Return a figure as text; None is unknown."""
    return "unknown" if value is None else form.format(value)


class Watch:
    """Shows the progress of a run."""

    def __init__(self, *, steps: int, name: str, quiet: bool = False) -> None:
        self._steps, self._name, self._quiet = steps, name, quiet
        self._last = 0.0
        self._evaluation = ""
        self._notes: deque[str] = deque(maxlen=3)
        self._live: Any = None
        if not quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4)
            self._live.start()

    def step(self, line: Mapping[str, Any]) -> None:
        """Show a finished step."""
        graded = line["graded"]
        shown = {**line, "ungraded": None if graded is None else 1.0 - float(graded)}
        if self._live is not None:
            self._live.update(self._table(shown))
        elif not self._quiet and (time.monotonic() - self._last >= EVERY_S or line["step"] == self._steps):
            self._last = time.monotonic()
            self._say(
                f"step {line['step']}/{self._steps} reward {_form('{:.3f}', line['reward_mean'])} "
                f"zero-variance {_form('{:.0%}', line['zero_variance'])} "
                f"length {_form('{:.1f}', line['length_mean'])} entropy {_form('{:.3f}', line['entropy'])} "
                f"{_form('{:,.0f}', line['tokens_per_s'])} tokens/s"
            )

    def evaluation(self, line: Mapping[str, Any]) -> None:
        """Show a finished evaluation."""
        figures = " ".join(
            f"{name} {_form('{:.3f}', value)}" for name, value in line.items() if name.startswith("pass@")
        )
        self._evaluation = f"step {line['step']}: {figures}"
        if self._live is None:
            self.note(f"held-out {self._evaluation}")

    def note(self, text: str) -> None:
        """Show a note."""
        self._notes.append(one_line(text, limit=300))
        if self._live is None and not self._quiet:
            self._say(self._notes[-1])

    def close(self) -> None:
        """Stop, with the last state left on the screen."""
        if self._live is not None:
            self._live.stop()

    def _say(self, text: str) -> None:
        print(f"assay: {text}", file=sys.stderr, flush=True)

    def _table(self, line: Mapping[str, Any]) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"{self._name}: step {line['step']} of {self._steps}", show_header=False, min_width=48)
        for label, name, form in SHOWN:
            if name in line:
                table.add_row(label, _form(form, line[name]))
        if self._evaluation:
            table.add_row("held-out", Text(self._evaluation))
        for note in self._notes:
            table.add_row("note", Text(note, style="bold red"))
        return table
