"""The report of a run: one HTML file that needs nothing else, and the reward curve as a PNG.

Made from the run's files, so it can be made again at any time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.buffer import Reason
from assay.trainer_adapter.grpo.run.records import EVALS, METRICS, ROLLOUTS, read_lines
from assay.viewer.charts import Points
from assay.viewer.page import Page, Preformatted

REPORT, CURVE = "report.html", "curve.png"
CHARTS: Sequence[tuple[str, Sequence[str]]] = (
    ("Groups without variance", ("zero_variance", "all_right", "all_wrong")),
    ("Completion length, tokens", ("length_mean",)),
    ("Truncated, no verdict", ("truncated", "row_faults", "outages")),
    ("Entropy", ("entropy",)),
    ("KL to the reference model", ("kl",)),
    ("KL to the rollout policy", ("kl_rollout",)),
    ("Effective sample size", ("ess_token", "ess_sequence")),
    ("Clipped, work saved", ("clipped", "work_saved")),
    ("Gradient norm", ("grad_norm",)),
    ("Data lag and publication lag, versions", ("data_lag_mean", "data_lag_max", "publication_lag")),
    ("Groups in the buffer when a batch is taken", ("buffer_admitted", "buffer_running")),
    ("Groups dropped so far", tuple(f"dropped_{reason.value}" for reason in Reason)),
    ("Share of the pool's slots that sample", ("pool_busy",)),
    ("Publications and restarts of workers, a step", ("publications", "pool_restarts")),
    ("Seconds a step", ("generate_s", "verify_wait_s", "update_s")),
)
SHOWN_STEPS = 12
ROLLOUT_COLUMNS = ("step", "prompt", "completion", "reward", "reason")
Lines = Sequence[Mapping[str, Any]]


def write_report(out: Path) -> None:
    """Write `report.html` and `curve.png` from the files of the run in `out`."""
    metrics, evals, rollouts = (read_lines(out / name) for name in (METRICS, EVALS, ROLLOUTS))
    settings = json.loads((out / "config.json").read_text())
    (out / REPORT).write_text(page(settings, metrics, evals, rollouts), encoding="utf-8")
    write_png(out / CURVE, metrics, evals)


def page(settings: Mapping[str, Any], metrics: Lines, evals: Lines, rollouts: Lines) -> str:
    """Return the report as HTML."""
    report = Page(str(settings.get("name", "run")), _headline(metrics, evals))
    if alarm := _alarm(evals):
        report.alarm(alarm)
    report.heading("Reward and evaluation")
    report.lines("Reward, correctness", _series(metrics, ("reward_mean", "correct")))
    report.lines("Held-out", _series(evals, _passes(evals)))
    report.heading("The run")
    for title, names in CHARTS:
        if series := {name: points for name, points in _series(metrics, names).items() if points}:
            report.lines(title, series)
    report.heading("Distributions")
    for title, counts in _distributions(metrics):
        report.columns(title, counts)
    report.heading("Rollouts over time")
    report.table(ROLLOUT_COLUMNS, _rollouts(rollouts))
    report.heading("Configuration")
    report.preformatted(json.dumps(settings, indent=1, ensure_ascii=False))
    return report.html()


def _series(lines: Lines, names: Sequence[str]) -> dict[str, Points]:
    return {name: _known(lines, name) for name in names}


def _known(lines: Lines, name: str) -> Points:
    """Return steps and values, without those that are null."""
    return [(line["step"], line[name]) for line in lines if line.get(name) is not None]


def _passes(evals: Lines) -> list[str]:
    return sorted({key for line in evals for key in line if key.startswith("pass@")})


def mean_of(lines: Lines, name: str) -> float:
    """Return the mean of a metric over the lines that have it, or NaN."""
    values = [float(line[name]) for line in lines if line[name] is not None]
    return sum(values) / len(values) if values else math.nan


def _headline(metrics: Lines, evals: Lines) -> str:
    if not metrics:
        return "No step is done yet."
    first, last = mean_of(metrics[:10], "reward_mean"), mean_of(metrics[-10:], "reward_mean")
    text = f"{len(metrics)} steps. Mean reward of the first ten {_form(first)}, of the last ten {_form(last)}."
    if len(evals) > 1:
        name = next((key for key in evals[0] if key.startswith("pass@")), "reward_mean")
        text += f" Held-out {name} {_form(evals[0][name])}, then {_form(evals[-1][name])}."
    saved = mean_of(metrics, "work_saved")
    return f"{text} Training tokens that were never computed: {_form(saved, '.0%')}."


def _form(value: float | None, form: str = ".3f") -> str:
    return "unknown" if value is None or math.isnan(value) else format(value, form)


def _alarm(evals: Lines) -> str:
    steps = ", ".join(str(line["step"]) for line in evals if line.get("alarm"))
    if not steps:
        return ""
    return f"Reward rose while the evaluation fell, at step {steps}: look for a reward that is gamed."


def _distributions(metrics: Lines) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield the histograms of the first, the middle and the last step."""
    places = sorted({0, len(metrics) // 2, len(metrics) - 1}) if metrics else []
    for line in (metrics[place] for place in places):
        for title, name in (("Rewards", "rewards"), ("Lengths, up to", "lengths")):
            yield f"{title}, step {line['step']}", line.get("distributions", {}).get(name, {})


def _rollouts(lines: Lines) -> list[tuple[object, ...]]:
    """Return the rollouts of at most about `SHOWN_STEPS` steps, the last one included, as cells of a table."""
    steps = sorted({line["step"] for line in lines})
    stride = max(1, -(-len(steps) // SHOWN_STEPS))
    shown = {*steps[::stride], *steps[-1:]}
    return [
        (
            line["step"],
            Preformatted(line["prompt"]),
            Preformatted(line["completion"]),
            "none" if line["reward"] is None else f"{line['reward']:g}",
            line["reason"],
        )
        for line in lines
        if line["step"] in shown
    ]


def _columns(points: Points) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def write_png(path: Path, metrics: Lines, evals: Lines) -> None:
    """Write the curve of reward and evaluation over steps."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot(*_columns(_known(metrics, "reward_mean")), lw=1, label="reward")
    for name in _passes(evals):
        axes.plot(*_columns(_known(evals, name)), "o-", ms=3, label=f"held-out {name}")
    axes.set_xlabel("step")
    axes.set_ylabel("mean")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path)
