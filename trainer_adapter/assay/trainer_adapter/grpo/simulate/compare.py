"""Forecasts of several regimes and pool sizes, as a table and as an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from assay.trainer_adapter.grpo.run.config import RegimeKind, Run
from assay.trainer_adapter.grpo.simulate.figures import Figures
from assay.trainer_adapter.grpo.simulate.simulation import Forecast, Simulation

KINDS: Sequence[RegimeKind] = ("sync", "async", "fully_async")
FED = 0.95
"""Share of its time that a trainer is busy which is said to have enough generators."""
KEPT = ("in_flight", "kv", "group_deadline_s", "mastered")

COLUMNS: Sequence[tuple[str, Callable[[Forecast], str]]] = (
    ("regime", lambda one: one.kind),
    ("workers x slots", lambda one: f"{one.workers} x {one.slots}"),
    ("groups/s", lambda one: f"{one.groups_per_s:.4g}"),
    ("s/step", lambda one: f"{one.seconds / len(one.steps):.4g}"),
    ("pool busy", lambda one: f"{one.pool_busy:.0%}"),
    ("trainer busy", lambda one: f"{one.trainer_busy:.0%}"),
    ("data lag mean, max", lambda one: f"{one.data_lag_mean:.2f}, {one.data_lag_max}"),
    ("publication lag", lambda one: f"{fmean(step.publication_lag for step in one.steps):.2f}"),
    ("tokens/sample: generated, trained", lambda one: f"{one.tokens[0]:.4g}, {one.tokens[1]:.4g}"),
    ("dropped", lambda one: f"{dropped(one):.0%}"),
)


def dropped(one: Forecast) -> float:
    """Return the share of the groups that ended which did not train, those without variance not counted."""
    lost = sum(count for name, count in one.accounts.items() if name.startswith("dropped") and "variance" not in name)
    return lost / max(1, lost + one.accounts.get("trained", 0))


def variant(run: Run, kind: RegimeKind, workers: int | None) -> Run:
    """Return the run in another regime (lag and capacity by default), or with another number of workers."""
    table = run.model_dump()
    if kind != run.regime.kind:
        kept = {name: table["regime"][name] for name in KEPT}
        processes = {"workers": run.regime.workers} if run.regime.workers else {}
        table["regime"] = {"kind": kind, **kept, **processes}
    if workers is not None:
        table["simulate"]["workers"] = workers
    return Run.model_validate(table)


def forecasts(run: Run, figures: Figures, kinds: Iterable[RegimeKind], workers: Iterable[int | None]) -> list[Forecast]:
    """Return the forecast of each regime with each number of workers."""
    sizes = list(workers)
    return [Simulation(variant(run, kind, count), figures).run() for kind in kinds for count in sizes]


def rows(found: Sequence[Forecast]) -> list[list[str]]:
    """Return the table, its header first."""
    return [[name for name, _ in COLUMNS], *([cell(one) for _, cell in COLUMNS] for one in found)]


def answers(found: Sequence[Forecast]) -> list[str]:
    """Return for each regime how many workers keep the trainer busy, where several numbers were simulated."""
    lines = []
    for kind in dict.fromkeys(one.kind for one in found):
        mine = [one for one in found if one.kind == kind]
        fed = [one for one in mine if one.trainer_busy >= FED]
        best = max(mine, key=lambda one: one.trainer_busy)
        if len(mine) > 1 and fed:
            lines.append(f"{kind}: {min(one.workers for one in fed)} workers keep the trainer busy")
        elif len(mine) > 1:
            lines.append(
                f"{kind}: the trainer waits {1 - best.trainer_busy:.0%} of the time at best ({best.workers} workers)"
            )
    return lines


def as_json(found: Sequence[Forecast]) -> list[dict[str, Any]]:
    """Return the forecasts as JSON objects."""
    return [
        {
            **asdict(one),
            "groups_per_s": one.groups_per_s,
            "pool_busy": one.pool_busy,
            "trainer_busy": one.trainer_busy,
            "data_lag_mean": one.data_lag_mean,
            "data_lag_max": one.data_lag_max,
        }
        for one in found
    ]
