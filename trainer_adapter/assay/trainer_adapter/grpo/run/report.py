"""The report of a run: one HTML file that needs nothing else, and the reward curve as a PNG.

Everything a model wrote is escaped, control characters are shown, and the page's own policy forbids scripts
and anything from elsewhere. Made from the run's files, so it can be made again at any time.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.cli.escape import escape
from assay.trainer_adapter.grpo.run.charts import Points, histogram, line_chart
from assay.trainer_adapter.grpo.run.records import EVALS, METRICS, ROLLOUTS, read_lines

REPORT, CURVE = "report.html", "curve.png"
CHARTS: Sequence[tuple[str, Sequence[str]]] = (
    ("Groups without variance", ("zero_variance", "all_right", "all_wrong")),
    ("Completion length, tokens", ("length_mean",)),
    ("Truncated, no verdict", ("truncated", "row_faults", "outages")),
    ("Entropy", ("entropy",)),
    ("KL to the reference", ("kl",)),
    ("KL to the rollout policy", ("kl_rollout",)),
    ("Effective sample size", ("ess_token", "ess_sequence")),
    ("Clipped, work saved", ("clipped", "work_saved")),
    ("Gradient norm", ("grad_norm",)),
    ("Seconds a step", ("generate_s", "verify_wait_s", "update_s")),
)
SHOWN_STEPS = 12
STYLE = """body{font:14px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:1180px;padding:0 1rem;color:#18181b}
figure{display:inline-block;margin:4px;width:560px;max-width:100%}svg{width:100%}text{font:11px sans-serif;fill:#52525b}
.t{font-weight:600;fill:#18181b}table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #e4e4e7;
padding:4px 8px;text-align:left;vertical-align:top}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}
.alarm{background:#fee2e2;padding:.6rem 1rem;border-left:4px solid #dc2626}"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write_report(out: Path) -> None:
    """Write `report.html` and `curve.png` from the files of the run in `out`."""
    metrics, evals, rollouts = (read_lines(out / name) for name in (METRICS, EVALS, ROLLOUTS))
    settings = json.loads((out / "config.json").read_text())
    (out / REPORT).write_text(page(settings, metrics, evals, rollouts), encoding="utf-8")
    write_png(out / CURVE, metrics, evals)


def page(
    settings: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]], evals: Sequence[Mapping[str, Any]],
    rollouts: Sequence[Mapping[str, Any]],
) -> str:  # fmt: skip
    """The page as text."""
    name = _safe(str(settings.get("name", "run")))
    body = [
        f"<h1>{name}</h1>", _headline(metrics, evals), _alarms(evals), "<h2>Reward and evaluation</h2>",
        line_chart("Reward, correctness", _series(metrics, ("reward_mean", "correct"))),
        line_chart("Held-out", _series(evals, _passes(evals))),
        "<h2>The run</h2>", *(line_chart(title, _series(metrics, names)) for title, names in CHARTS),
        "<h2>Distributions</h2>", *_distributions(metrics), "<h2>Rollouts over time</h2>", _rollouts(rollouts),
        f"<h2>Configuration</h2><pre>{_safe(json.dumps(settings, indent=1, ensure_ascii=False))}</pre>",
    ]  # fmt: skip
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}"><title>{name}</title>'
    return (
        f"<!doctype html><html lang=en><head>{head}<style>{STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _safe(text: str) -> str:
    return html.escape(escape(text))


def _series(lines: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Points]:
    return {name: _known(lines, name) for name in names}


def _known(lines: Sequence[Mapping[str, Any]], name: str) -> Points:
    """Steps and values, without those that are null."""
    return [(line["step"], line[name]) for line in lines if line.get(name) is not None]


def _passes(evals: Sequence[Mapping[str, Any]]) -> list[str]:
    return sorted({key for line in evals for key in line if key.startswith("pass@")})


def mean_of(lines: Sequence[Mapping[str, Any]], name: str) -> float:
    """The mean of a metric over the lines that have it; NaN where none has."""
    values = [float(line[name]) for line in lines if line[name] is not None]
    return sum(values) / len(values) if values else math.nan


def _headline(metrics: Sequence[Mapping[str, Any]], evals: Sequence[Mapping[str, Any]]) -> str:
    if not metrics:
        return "<p>No step is done yet.</p>"
    first, last = mean_of(metrics[:10], "reward_mean"), mean_of(metrics[-10:], "reward_mean")
    text = f"{len(metrics)} steps. Mean reward of the first ten {_form(first)}, of the last ten {_form(last)}."
    if len(evals) > 1:
        name = next((key for key in evals[0] if key.startswith("pass@")), "reward_mean")
        text += f" Held-out {name} {_form(evals[0][name])}, then {_form(evals[-1][name])}."
    saved = mean_of(metrics, "work_saved")
    return f"<p>{_safe(text)} Training tokens that were never computed: {_form(saved, '.0%')}.</p>"


def _form(value: float | None, form: str = ".3f") -> str:
    return "unknown" if value is None or math.isnan(value) else format(value, form)


def _alarms(evals: Sequence[Mapping[str, Any]]) -> str:
    steps = ", ".join(str(line["step"]) for line in evals if line.get("alarm"))
    if not steps:
        return ""
    return (
        f'<p class="alarm">Reward rose while the evaluation fell, at step {steps}: look for a reward that is gamed.</p>'
    )


def _distributions(metrics: Sequence[Mapping[str, Any]]) -> list[str]:
    places = sorted({0, len(metrics) // 2, len(metrics) - 1}) if metrics else []
    charts = []
    for place in places:
        line = metrics[place]
        for title, name in (("Rewards", "rewards"), ("Lengths, up to", "lengths")):
            charts.append(histogram(f"{title}, step {line['step']}", line.get("distributions", {}).get(name, {})))
    return charts


def _rollouts(lines: Sequence[Mapping[str, Any]]) -> str:
    steps = sorted({line["step"] for line in lines})
    stride = max(1, -(-len(steps) // SHOWN_STEPS))
    shown = {*steps[::stride], *steps[-1:]}
    rows = [
        f"<tr><td>{line['step']}</td><td><pre>{_safe(line['prompt'])}</pre></td><td><pre>{_safe(line['completion'])}</pre>"
        f"</td><td>{_number(line['reward'])}</td><td>{_safe(line['reason'])}</td></tr>"
        for line in lines
        if line["step"] in shown
    ]
    head = "<tr><th>step</th><th>prompt</th><th>completion</th><th>reward</th><th>why</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _number(value: Any) -> str:
    return "none" if value is None else f"{value:g}"


def _columns(points: Points) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def write_png(path: Path, metrics: Sequence[Mapping[str, Any]], evals: Sequence[Mapping[str, Any]]) -> None:
    """Reward and evaluation over steps."""
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
