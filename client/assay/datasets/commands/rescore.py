"""`assay rescore OLD -o NEW`: score stored results again with the current verifiers, and report what changed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.connect import WINDOW, connect
from assay.cli.errors import DIFFERS, OK, Unusable
from assay.cli.escape import one_line
from assay.cli.explanation import explain
from assay.cli.files import is_parquet, open_output
from assay.cli.inputs import open_rows
from assay.cli.options import PluginsOption, QuietOption, SecondOpinionOption, ServerOption
from assay.cli.pipeline import JsonlSink, score_rows
from assay.cli.progress import Progress
from assay.cli.rows import Row
from assay.client import AsyncClient
from assay.datasets.changes import Changes
from assay.datasets.commands.diff import print_changes
from assay.datasets.second_opinion import NAME, Opinions, SecondOpinion

_SHOWN = 20
"""Disagreements that are printed; `--json` has all of them."""


def rescore(
    old: Annotated[str, typer.Argument(help="A file written by `assay score`, with completions and references.")],
    output: Annotated[str | None, typer.Option("-o", "--output", help="Write the rows with their new results.")] = None,
    replay: Annotated[
        str | None, typer.Option("--id", help="Score only the row with this id, and explain its new verdict.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the changes as JSON.")] = None,
    server: ServerOption = None,
    plugins: PluginsOption = None,
    second_opinion: SecondOpinionOption = False,
    quiet: QuietOption = False,
) -> None:
    """Score stored completions again and report which verdicts changed. Exit code 1 if any did."""
    if output is not None and is_parquet(output):
        raise Unusable("rescored rows are written as JSON lines: name a .jsonl file", source=output)
    if output is not None and all(map(os.path.exists, (output, old))) and os.path.samefile(output, old):
        raise Unusable("the output would overwrite the input", source=output)
    changes, opinions = Changes(), Opinions() if second_opinion else None
    client = connect(server or [], plugins=plugins or [])
    asyncio.run(_run(client, old, output, replay, changes, opinions, quiet=quiet))
    if replay is not None and not changes.compared:
        raise Unusable(f"no row with the id {replay!r} and a result", source=old)
    print_changes(changes)
    if opinions is not None:
        _print_opinions(opinions)
    if json_file is not None:
        second = {} if opinions is None else {"second_opinion": opinions.fields()}
        json_file.write_text(json.dumps({**changes.fields(), **second}, indent=1) + "\n")
    raise typer.Exit(DIFFERS if changes.changed else OK)


async def _run(
    client: AsyncClient,
    old: str,
    output: str | None,
    replay: str | None,
    changes: Changes,
    opinions: Opinions | None,
    *,
    quiet: bool,
) -> None:
    with ExitStack() as stack:
        second = stack.enter_context(SecondOpinion()) if opinions is not None else None
        sink = None if output is None else JsonlSink(stack.enter_context(open_output(output)), slim=False)
        rows = _chosen(stack.enter_context(open_rows(old)), replay, old)
        progress = stack.enter_context(Progress(total_bytes=None, quiet=quiet or replay is not None))
        async with client:
            explained = {replay} if replay is not None else set()
            async for scored in score_rows(client, rows, window=WINDOW, explain=explained):
                for row in scored.rows:
                    result = scored.answers[row.index].fields
                    changes.add(row.id, row.value("result"), result)
                    if second is not None and opinions is not None:
                        opinions.add(row.id, result.get("reward"), await second.of(_asked(row)))
                    if row.id == replay:
                        explain(row, result, sys.stdout)
                if sink is not None:
                    sink.write(scored)
                progress.add(rows=len(scored.rows), size=0)


def _asked(row: Row) -> dict[str, Any]:
    """The fields of a row that a second opinion reads."""
    return {name: row.value(name) for name in ("verifier", "reference", "completion") if name in row.spans}


def _print_opinions(opinions: Opinions) -> None:
    rows = opinions.disagreements
    print(f"\n{NAME} was asked about {opinions.asked} rows and disagrees on {len(rows)}")
    for row, reward, second in rows[:_SHOWN]:
        print(f"        {one_line(row, limit=60)}: reward {reward:g}, {NAME} {'accepts' if second else 'rejects'} it")


def _chosen(rows: Iterable[Row], replay: str | None, source: str) -> Iterator[Row]:
    for row in rows:
        if replay is not None and row.id != replay:
            continue
        if "completion" not in row.spans or "verifier" not in row.spans:
            raise Unusable("the row has no completion or verifier (written with --slim?)", line=row.line, source=source)
        yield row
