"""`assay audit ROWS`: find faults of a dataset before training on it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.connect import connect
from assay.cli.errors import DIFFERS, OK, Unusable
from assay.cli.escape import one_line
from assay.cli.options import PluginsOption, QuietOption, SecondOpinionOption, ServerOption
from assay.cli.progress import Progress
from assay.datasets.audit.findings import KINDS, Severity
from assay.datasets.audit.probes import Depth
from assay.datasets.audit.report import as_html, as_json
from assay.datasets.audit.run import Report
from assay.datasets.audit.run import audit as run
from assay.datasets.audit.texts import TestSet
from assay.datasets.records import read
from assay.datasets.second_opinion import SecondOpinion

_PROMPTS = ("prompt", "question", "problem", "question_content", "text")


def audit(
    rows: Annotated[list[Path], typer.Argument(help="Files of rows, as written by `assay rows`.")],
    against: Annotated[
        list[Path] | None, typer.Option(help="A test set that the rows must not overlap; repeatable.")
    ] = None,
    max_bad: Annotated[
        float, typer.Option(min=0, max=1, help="Exit with code 1 if a greater share of rows is bad.")
    ] = 0.0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the whole report as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of runs of each program's gold, to find flaky rows.")] = 3,
    show: Annotated[int, typer.Option(min=0, help="Number of findings shown per kind.")] = 5,
    server: ServerOption = None,
    plugins: PluginsOption = None,
    second_opinion: SecondOpinionOption = False,
    quiet: QuietOption = False,
) -> None:
    """Try each row's gold, mutants of it, and degenerate completions; find duplicates and overlap with test sets.

    Exit code 1 if more than `--max-bad` of the rows have an error, or could not be scored.
    """
    for path in rows:
        if not path.exists():
            raise Unusable("no such file", source=str(path))
    client = connect(server or [], plugins=plugins or [])
    with SecondOpinion() if second_opinion else nullcontext() as second:
        report = asyncio.run(_run(client, rows, against or [], Depth(repeats=repeats), second, quiet=quiet))
    if not report.rows:
        raise Unusable("no rows", source=", ".join(map(str, rows)))
    print_report(report, show=show)
    for target, text in ((json_file, as_json), (html, as_html)):
        if target is not None:
            target.write_text(text(report), encoding="utf-8")
    raise typer.Exit(DIFFERS if report.unsure_share > max_bad else OK)


async def _run(
    client: Any, rows: list[Path], against: list[Path], depth: Depth, second: SecondOpinion | None, *, quiet: bool
) -> Report:
    test_set = TestSet(_prompts(against)) if against else None
    async with client:
        with Progress(total_bytes=None, quiet=quiet) as progress:
            return await run(
                client,
                read(rows),
                depth=depth,
                test_set=test_set,
                on_row=lambda: progress.add(rows=1, size=0),
                second=second,
            )


def _prompts(paths: list[Path]) -> Iterator[Any]:
    """Yield the prompts of test sets, from rows or from the datasets' own columns."""
    for record in read(paths):
        found = next((record.fields[name] for name in _PROMPTS if record.fields.get(name)), None)
        if found is None:
            why = record.fault or f"missing column {', '.join(_PROMPTS)}"
            print(f"assay: {record.source}:{record.place}: {one_line(why)}", file=sys.stderr)
        else:
            yield found


def print_report(report: Report, *, show: int) -> None:
    """Print the report to a terminal."""
    bad = report.bad
    print(f"{report.rows} rows, {report.probes} probes: {bad} rows with errors ({report.bad_share:.2%})")
    for kind, count in report.kinds():
        severity, meaning = KINDS[kind]
        print(f"\n{Severity(severity).name.lower():<8}{kind}  {count} rows: {meaning}")
        for finding in [f for f in report.findings if f.kind == kind][:show]:
            print(f"        line {finding.line}  {one_line(finding.row, limit=60)}: {one_line(finding.detail)}")
