"""`assay diff A B`: which verdicts changed between two files of results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.errors import DIFFERS, OK, Unusable
from assay.cli.escape import one_line
from assay.cli.inputs import open_rows
from assay.cli.rows import Row
from assay.datasets.changes import Changes


def diff(
    before: Annotated[str, typer.Argument(help="A file that `assay score` wrote.")],
    after: Annotated[str, typer.Argument(help="Another, of the same rows in the same order.")],
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the comparison as JSON.")] = None,
) -> None:
    """Compare verdicts row by row, grouped by what changed. Exit code 1 if any did."""
    changes = Changes()
    with open_rows(before) as old, open_rows(after) as new:
        for name, left, right in _pairs(old, new):
            changes.add(name, left, right)
    if not changes.compared:
        raise Unusable("no row carries a result in both files")
    print_changes(changes)
    if json_file is not None:
        json_file.write_text(json.dumps(changes.fields(), indent=1) + "\n")
    raise typer.Exit(DIFFERS if changes.changed or changes.missing else OK)


def _pairs(old: Iterator[Row], new: Iterator[Row]) -> Iterator[tuple[str, Any, Any]]:
    """Rows of one place; raises `Unusable` where they carry different ids, for then nothing can be said."""
    for left, right in zip_longest(old, new):
        if left is None or right is None:
            yield (left or right).id, *((None, {}) if left is None else ({}, None))
            continue
        if left.id != right.id:
            names = f"{one_line(left.id, limit=60)} and {one_line(right.id, limit=60)}"
            raise Unusable(f"the rows at line {left.line} are {names}: the files hold other rows, or another order")
        yield left.id, left.value("result"), right.value("result")


def print_changes(changes: Changes) -> None:
    """For a terminal."""
    print(f"{changes.compared} verdicts compared: {changes.changed} changed, {changes.missing} without a partner")
    for change, count in changes.groups.most_common():
        names = ", ".join(one_line(name, limit=40) for name in changes.examples[change])
        print(f"{count:>8}  {one_line(str(change), limit=300)}   [{names}]")
    if changes.unstable:
        print(f"{changes.unstable} of them under an equal item_key: that verdict is not deterministic")
