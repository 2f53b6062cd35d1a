"""`assay score`: write the rows of a file with a `result` each."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Annotated

import typer

from assay.cli import parquet_output
from assay.cli import resume as resuming
from assay.cli.connect import WINDOW, connect, run_label
from assay.cli.errors import OK, UNFINISHED, Unusable
from assay.cli.escape import one_line
from assay.cli.explanation import explain
from assay.cli.files import STREAM, is_parquet, open_output, total_bytes
from assay.cli.inputs import open_rows
from assay.cli.options import PluginsOption, ServersOption
from assay.cli.pipeline import JsonlSink, ScoredChunk, score_rows
from assay.cli.progress import Progress
from assay.cli.rows import Row
from assay.cli.summary import Summary
from assay.client import AsyncClient


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """The options of one `assay score` command."""

    rows: str
    output: str
    slim: bool = False
    explain: Collection[str] = ()
    deadline_s: float | None = None
    defaults: bytes | None = None
    quiet: bool = False
    summary: Summary = field(default_factory=Summary)
    explained: set[str] = field(default_factory=set)


def score(
    rows: Annotated[str, typer.Argument(help="JSONL or Parquet file; - for standard input.")],
    output: Annotated[str, typer.Option("-o", "--output", help="JSONL or Parquet file.")] = STREAM,
    server: ServersOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an earlier run.")] = False,
    slim: Annotated[bool, typer.Option("--slim", help="Omit completion, prompt and reference.")] = False,
    explain: Annotated[
        list[str] | None, typer.Option(help="Explain the verdict on the row with this id; repeatable.")
    ] = None,
    plugins: PluginsOption = None,
    run: Annotated[str | None, typer.Option(help="`run` label for rows without one.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds within which each row must start.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress and no summary table.")] = False,
) -> None:
    """Score the rows of a file; each output line is the input row with its result."""
    options = ScoreOptions(
        rows=rows,
        output=output,
        slim=slim,
        explain=frozenset(explain or ()),
        deadline_s=deadline,
        defaults=run_label(run),
        quiet=quiet,
    )
    _check_paths(options, resume=resume)
    client = connect(server or [], plugins=plugins or [])
    retryable = asyncio.run(_run(client, options, resume=resume))
    if retryable:
        print(f"assay: {retryable} rows have no verdict yet; --resume scores them again", file=sys.stderr)
    raise typer.Exit(UNFINISHED if retryable else OK)


def _check_paths(options: ScoreOptions, *, resume: bool) -> None:
    both = os.path.exists(options.rows) and os.path.exists(options.output)
    if options.output != STREAM and both and os.path.samefile(options.rows, options.output):
        raise Unusable("the output would overwrite the input", source=options.output)
    if resume and STREAM in (options.rows, options.output):
        raise Unusable("--resume needs files: it reads both from the start")
    if options.deadline_s is not None and options.deadline_s <= 0:
        raise Unusable("--deadline must be positive")


async def _run(client: AsyncClient, options: ScoreOptions, *, resume: bool) -> int:
    """Score the rows and return the number of rows with a retryable null."""
    async with client:
        if is_parquet(options.output):
            await _to_parquet(client, options, resume=resume)
        else:
            await _to_jsonl(client, options, resume=resume)
    if not options.quiet:
        options.summary.print(sys.stderr)
    for name in sorted(set(options.explain) - options.explained):
        print(f"assay: --explain {one_line(name)}: no row with that id was scored", file=sys.stderr)
    return options.summary.retryable


async def _resume(client: AsyncClient, options: ScoreOptions) -> None:
    with open_rows(options.rows) as rows:
        found = resuming.survey(options.output, rows, slim=options.slim)
    if found.verifiers:
        offered = {info.name: info.version for info in await client.verifiers()}
        for verifier in sorted(found.verifiers):
            resuming.check_version(verifier, offered)
    for name, tally in found.summary.tallies.items():
        options.summary.tallies[name] = tally
    options.summary.errors += found.summary.errors
    resuming.truncate(options.output, found.size)
    with open_output(options.output, mode="ab") as stream, open_rows(options.rows) as rows:
        missing = resuming.remaining(rows, found)
        await run_pass(client, options, missing, JsonlSink(stream, slim=options.slim))
    if found.retryable:
        await _again(client, options, found.retryable)


async def _again(client: AsyncClient, options: ScoreOptions, retryable: Iterable[int]) -> None:
    """Score retryable nulls again into a new file that then replaces the output."""
    beside = options.output + ".tmp"
    with ExitStack() as stack:
        stream = stack.enter_context(open_output(beside))
        rows = stack.enter_context(open_rows(options.rows))
        kept = resuming.with_output_lines(rows, options.output, retryable)
        await run_pass(client, options, kept, JsonlSink(stream, slim=options.slim))
        os.fsync(stream.fileno())
    os.replace(beside, options.output)


async def _to_parquet(client: AsyncClient, options: ScoreOptions, *, resume: bool) -> None:
    """Score into a partial JSONL file, then convert it to the Parquet file."""
    lines = replace(options, output=parquet_output.partial(options.output))
    if resume:
        with open_rows(options.rows) as rows:
            parquet_output.restore(rows, options.output, slim=options.slim)
    await _to_jsonl(client, lines, resume=resume)
    with open_rows(options.rows) as rows:
        parquet_output.convert(rows, options.output, slim=options.slim)


async def _to_jsonl(client: AsyncClient, options: ScoreOptions, *, resume: bool) -> None:
    if resume:
        await _resume(client, options)
        return
    with open_output(options.output) as stream, open_rows(options.rows) as rows:
        await run_pass(client, options, rows, JsonlSink(stream, slim=options.slim))


async def run_pass(client: AsyncClient, options: ScoreOptions, rows: Iterable[Row], sink: JsonlSink) -> None:
    """Score `rows` into `sink`."""
    scored_chunks = score_rows(
        client,
        rows,
        window=WINDOW,
        explain=options.explain,
        deadline_s=options.deadline_s,
        defaults=options.defaults,
        slow=not os.path.isfile(options.rows),
    )
    with Progress(total_bytes=total_bytes(options.rows), quiet=options.quiet) as progress:
        async for scored in scored_chunks:
            sink.write(scored)
            _report(options, scored, progress)


def _report(options: ScoreOptions, scored: ScoredChunk, progress: Progress) -> None:
    scored.count(options.summary)
    progress.add(rows=len(scored.rows), size=sum(len(row.text) + 1 for row in scored.rows))
    if options.explain:
        for row in scored.rows:
            if row.id in options.explain and row.index in scored.answers:
                options.explained.add(row.id)
                explain(row, scored.answers[row.index].fields, sys.stderr)
