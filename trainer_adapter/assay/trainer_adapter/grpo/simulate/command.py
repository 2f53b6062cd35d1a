"""`assay train simulate`: what a run would do on a cluster of any size."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.run.command import read
from assay.trainer_adapter.grpo.run.config import RegimeKind
from assay.trainer_adapter.grpo.simulate.compare import KINDS, answers, as_json, forecasts, rows
from assay.trainer_adapter.grpo.simulate.figures import figures_of
from assay.trainer_adapter.grpo.simulate.picture import PAGE, PICTURE, write_page, write_png


def simulate(
    config: Annotated[str, typer.Argument(help="A TOML file with [simulate], or a recipe.")],
    measured: Annotated[Path | None, typer.Option(help="Folder of a run whose figures are used.")] = None,
    regime: Annotated[list[str] | None, typer.Option(help="sync, async, fully_async. Default: all three.")] = None,
    workers: Annotated[str | None, typer.Option(help="Numbers of workers, as 1,2,4. Default: the file's.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the page, the picture and the figures.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="section.key=value, as TOML.")] = None,
) -> None:
    """Forecast throughput, lags and use of a run by discrete events."""
    run = read(config, list(set_ or []))
    figures = figures_of(run, measured)
    found = forecasts(run, figures, _kinds(regime), _sizes(workers))
    _print(rows(found))
    for line in answers(found):
        print(line)
    if out is None:
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "simulation.json").write_text(json.dumps(as_json(found)), encoding="utf-8")
        write_page(out, run.name, found)
        write_png(out, found)
    except OSError as error:
        raise ConfigurationError(f"--out {out}: {error.strerror}") from None
    print(f"assay: {out / PAGE}, {out / PICTURE}", file=sys.stderr)


def _kinds(names: list[str] | None) -> list[RegimeKind]:
    for name in names or []:
        if name not in KINDS:
            raise ConfigurationError(f"--regime {name}: not one of {', '.join(KINDS)}")
    return [kind for kind in KINDS if not names or kind in names]


def _sizes(text: str | None) -> list[int | None]:
    if text is None:
        return [None]
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise ConfigurationError(f"--workers {text}: numbers of 1 or more, as 1,2,4")
    return list(sizes)


def _print(table: list[list[str]]) -> None:
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
