"""`assay score`: rows in, the same rows with a `result` out."""

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
from assay.cli.pipeline import JsonlSink, Scored, score_rows
from assay.cli.progress import Progress
from assay.cli.rows import Row
from assay.cli.summary import Summary
from assay.client import AsyncClient


@dataclass(frozen=True, kw_only=True)
class Job:
    """What `assay score` was asked to do."""

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
    server: Annotated[
        list[str] | None, typer.Option(help="URL of a service; repeat it for fail-over. Default: embedded.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run stopped.")] = False,
    slim: Annotated[bool, typer.Option("--slim", help="Leave completion, prompt and reference out.")] = False,
    explain: Annotated[
        list[str] | None, typer.Option(help="Explain the verdict on the row with this id; repeatable.")
    ] = None,
    verifiers: Annotated[
        list[str] | None, typer.Option(help="A Python file with verifiers of your own (embedded).")
    ] = None,
    run: Annotated[str | None, typer.Option(help="A label for rows that carry none.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds in which a row must have been started.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no table.")] = False,
) -> None:
    """Score the rows of a file; each output line is the input row and its result."""
    job = Job(
        rows=rows,
        output=output,
        slim=slim,
        explain=frozenset(explain or ()),
        deadline_s=deadline,
        defaults=run_label(run),
        quiet=quiet,
    )
    _check_paths(job, resume=resume)
    client = connect(server or [], plugins=verifiers or [])
    retryable = asyncio.run(_run(client, job, resume=resume))
    if retryable:
        print(f"assay: {retryable} rows have no verdict yet; --resume scores them again", file=sys.stderr)
    raise typer.Exit(UNFINISHED if retryable else OK)


def _check_paths(job: Job, *, resume: bool) -> None:
    both = os.path.exists(job.rows) and os.path.exists(job.output)
    if job.output != STREAM and both and os.path.samefile(job.rows, job.output):
        raise Unusable("the output would overwrite the input", source=job.output)
    if resume and STREAM in (job.rows, job.output):
        raise Unusable("--resume needs files: it reads both from the start")
    if job.deadline_s is not None and job.deadline_s <= 0:
        raise Unusable("--deadline must be positive")


async def _run(client: AsyncClient, job: Job, *, resume: bool) -> int:
    """The whole run; the number of rows that may be scored again."""
    async with client:
        if is_parquet(job.output):
            await _to_parquet(client, job, resume=resume)
        else:
            await _to_jsonl(client, job, resume=resume)
    if not job.quiet:
        job.summary.print(sys.stderr)
    for name in sorted(set(job.explain) - job.explained):
        print(f"assay: --explain {one_line(name)}: no row of that id was scored", file=sys.stderr)
    return job.summary.retryable


async def _resume(client: AsyncClient, job: Job) -> None:
    with open_rows(job.rows) as rows:
        found = resuming.survey(job.output, rows, slim=job.slim)
    if found.verifiers:
        offered = {info.name: info.version for info in await client.verifiers()}
        for verifier in sorted(found.verifiers):
            resuming.check_version(verifier, offered)
    for name, tally in found.summary.tallies.items():
        job.summary.tallies[name] = tally
    job.summary.errors += found.summary.errors
    resuming.cut(job.output, found.size)
    with open_output(job.output, mode="ab") as stream, open_rows(job.rows) as rows:
        missing = resuming.remaining(rows, found)
        await run_pass(client, job, missing, JsonlSink(stream, slim=job.slim))
    if found.retryable:
        await _again(client, job, found.retryable)


async def _again(client: AsyncClient, job: Job, retryable: Iterable[int]) -> None:
    """Score retryable nulls again, into a file that then takes the output's place."""
    beside = job.output + ".tmp"
    with ExitStack() as stack:
        stream = stack.enter_context(open_output(beside))
        rows = stack.enter_context(open_rows(job.rows))
        kept = resuming.settled(rows, job.output, retryable)
        await run_pass(client, job, kept, JsonlSink(stream, slim=job.slim))
        os.fsync(stream.fileno())
    os.replace(beside, job.output)


async def _to_parquet(client: AsyncClient, job: Job, *, resume: bool) -> None:
    """Score into the partial file as for JSONL, then make the Parquet file from it."""
    lines = replace(job, output=parquet_output.partial(job.output))
    if resume:
        with open_rows(job.rows) as rows:
            parquet_output.restore(rows, job.output, slim=job.slim)
    await _to_jsonl(client, lines, resume=resume)
    with open_rows(job.rows) as rows:
        parquet_output.convert(rows, job.output, slim=job.slim)


async def _to_jsonl(client: AsyncClient, job: Job, *, resume: bool) -> None:
    if resume:
        await _resume(client, job)
        return
    with open_output(job.output) as stream, open_rows(job.rows) as rows:
        await run_pass(client, job, rows, JsonlSink(stream, slim=job.slim))


async def run_pass(client: AsyncClient, job: Job, rows: Iterable[Row], sink: JsonlSink) -> None:
    """Score `rows` into `sink`."""
    scored_chunks = score_rows(
        client,
        rows,
        window=WINDOW,
        explain=job.explain,
        deadline_s=job.deadline_s,
        defaults=job.defaults,
        slow=not os.path.isfile(job.rows),
    )
    with Progress(total_bytes=total_bytes(job.rows), quiet=job.quiet) as progress:
        async for scored in scored_chunks:
            sink.write(scored)
            _report(job, scored, progress)


def _report(job: Job, scored: Scored, progress: Progress) -> None:
    scored.count(job.summary)
    progress.add(rows=len(scored.rows), size=sum(len(row.text) + 1 for row in scored.rows))
    if job.explain:
        for row in scored.rows:
            if row.id in job.explain and row.index in scored.answers:
                job.explained.add(row.id)
                explain(row, scored.answers[row.index].fields, sys.stderr)
