"""Forecasts as a picture (PNG) and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.trainer_adapter.grpo.simulate.compare import answers, rows
from assay.trainer_adapter.grpo.simulate.simulation import Forecast, Step
from assay.viewer.page import Page

PAGE, PICTURE = "simulation.html", "simulation.png"


def _name(one: Forecast) -> str:
    return f"{one.kind}, {one.workers} x {one.slots}"


def write_page(out: Path, title: str, found: Sequence[Forecast]) -> None:
    """Write `simulation.html`: the table, and charts over the time of each forecast."""
    page = Page(title, " ".join(f"{line}." for line in answers(found)))
    table = rows(found)
    page.table(table[0], table[1:])
    for one in found:
        page.heading(_name(one))
        page.lines("Share of the slots that sample", {"pool": [(step.end_s, step.busy) for step in one.steps]})
        page.lines(
            "Data lag and publication lag, versions",
            {
                "data lag, mean": [(step.end_s, step.data_lag_mean) for step in one.steps],
                "data lag, greatest": [(step.end_s, float(step.data_lag_max)) for step in one.steps],
                "publication lag": [(step.end_s, float(step.publication_lag)) for step in one.steps],
            },
        )
        page.lines(
            "Groups when a batch was taken",
            {
                "admitted": [(step.end_s, float(step.admitted)) for step in one.steps],
                "running": [(step.end_s, float(step.running)) for step in one.steps],
            },
        )
        page.lines("Seconds that the trainer waited", {"waited": [(step.end_s, step.waited_s) for step in one.steps]})
    (out / PAGE).write_text(page.html(), encoding="utf-8")


def write_png(out: Path, found: Sequence[Forecast]) -> None:
    """Write `simulation.png`: a column for each forecast; pool, trainer, lags and buffer over time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * len(found), 6.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for column, (one, axes) in enumerate(zip(found, figure.subplots(3, len(found), squeeze=False).T, strict=True)):
        _draw(axes, one, first=column == 0)
    figure.savefig(out / PICTURE)


def _draw(axes: Sequence[Any], one: Forecast, *, first: bool) -> None:
    times = [step.end_s for step in one.steps]
    use, lag, buffer = axes
    _lines(use, times, {"pool": [step.busy for step in one.steps], "trainer": _trainer(one.steps)}, (0, 1.02))
    lags = {
        "data lag, mean": [step.data_lag_mean for step in one.steps],
        "greatest": [float(step.data_lag_max) for step in one.steps],
        "publication lag": [float(step.publication_lag) for step in one.steps],
    }
    _lines(lag, times, lags, (0, None))
    groups = {
        "admitted": [float(step.admitted) for step in one.steps],
        "running": [float(step.running) for step in one.steps],
    }
    _lines(buffer, times, groups, (0, None))
    use.set_title(f"{_name(one)}\n{one.groups_per_s:.3g} groups/s", fontsize=9)
    buffer.set_xlabel("seconds", fontsize=8)
    if first:
        for place, label in ((use, "share of time"), (lag, "versions"), (buffer, "groups")):
            place.set_ylabel(label, fontsize=8)


def _trainer(steps: Sequence[Step]) -> list[float]:
    """Return the share of each step's time in which the trainer was busy."""
    starts = [0.0, *(step.end_s for step in steps)]
    return [1 - step.waited_s / max(1e-9, step.end_s - start) for step, start in zip(steps, starts, strict=False)]


def _lines(axes: Any, times: list[float], series: dict[str, list[float]], limits: tuple[float, float | None]) -> None:
    for name, values in series.items():
        axes.plot(times, values, lw=1, label=name)
    axes.set_ylim(*limits)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
