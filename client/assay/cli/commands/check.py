"""`assay check`: score rows that carry an expected result and report differences."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import typer

from assay.cli.connect import WINDOW, connect
from assay.cli.errors import DIFFERS, OK, Unusable
from assay.cli.escape import one_line
from assay.cli.inputs import open_rows
from assay.cli.options import PluginsOption, ServersOption
from assay.cli.pipeline import score_rows
from assay.cli.rows import Row
from assay.client import AsyncClient

WITHIN = 1e-6
REFUSALS = ("invalid_reference", "invalid_item")


def check(
    cases: Annotated[str, typer.Argument(help="JSONL or Parquet file of rows with `expected`; - for stdin.")],
    minimum: Annotated[
        float | None, typer.Option("--min", min=0, max=1, help="Share of rows that must agree. Default: all.")
    ] = None,
    server: ServersOption = None,
    plugins: PluginsOption = None,
) -> None:
    """Score rows that carry `expected`, print those that differ, and last right/total."""
    client = connect(server or [], plugins=plugins or [])
    right, total, skipped = asyncio.run(_check(client, cases))
    if not total:
        raise Unusable("no row has a field `expected`", source=cases)
    if skipped:
        print(f"assay: {skipped} rows without `expected` were skipped", file=sys.stderr)
    print(f"{right}/{total}")
    passed = right == total if minimum is None else right / total >= minimum
    raise typer.Exit(OK if passed else DIFFERS)


def agrees(expected: Any, result: Mapping[str, Any]) -> bool:
    """Return whether a result agrees with the expected one: a number, null, `"refused"`, or a list of alternatives."""
    if isinstance(expected, list):
        return any(agrees(alternative, result) for alternative in expected)
    reward = result.get("reward")
    if expected == "refused":
        return reward is None and (result.get("error") or {}).get("code") in REFUSALS
    if expected is None or reward is None:
        return expected is None and reward is None
    return bool(abs(reward - expected) <= WITHIN)


def check_expected(value: Any, row: Row, source: str) -> None:
    """Raise `Unusable` if the row's `expected` is invalid."""
    for alternative in value if isinstance(value, list) and value else [value]:
        number = isinstance(alternative, int | float) and not isinstance(alternative, bool)
        if not (number or alternative is None or alternative == "refused"):
            raise Unusable(
                '`expected` must be a number, null, "refused", or a list of these', line=row.line, source=source
            )


async def _check(client: AsyncClient, source: str) -> tuple[int, int, int]:
    right = total = 0
    skipped = Counter[str]()
    async with client:
        with open_rows(source) as rows:
            async for scored in score_rows(client, _with_expected(rows, source, skipped), window=WINDOW):
                for row in scored.rows:
                    result = scored.answers[row.index].fields
                    total += 1
                    if agrees(row.value("expected"), result):
                        right += 1
                    else:
                        _print(row, result)
    return right, total, skipped.total()


def _with_expected(rows: Iterable[Row], source: str, skipped: Counter[str]) -> Iterator[Row]:
    for row in rows:
        if "expected" not in row.spans:
            skipped["no expected"] += 1
            continue
        check_expected(row.value("expected"), row, source)
        yield row


def _print(row: Row, result: Mapping[str, Any]) -> None:
    error = result.get("error")
    why = f"{error.get('code')}: {error.get('message')}" if error else str(result.get("reason"))
    extracted = one_line(str(result.get("extracted")), limit=60)
    line = f"{row.id}: expected {row.raw('expected')}, got {result.get('reward')} ({why}; extracted {extracted})"
    print(one_line(line, limit=400), file=sys.stdout, flush=True)
