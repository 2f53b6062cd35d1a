"""`--resume`: check the output of an earlier run line by line against the input, and continue it.

Every complete line of the output must start with the input row at its position, and its verifier versions must be those
of the engine; otherwise nothing is changed and the run is refused. An incomplete last line is removed. First the
missing rows are appended. Then rows with a retryable null are scored again, into a second file that replaces the output
at the end. A kill at any moment loses only work in progress.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any, BinaryIO

from assay.cli.errors import Unusable
from assay.cli.rows import Row
from assay.cli.summary import Summary
from assay.contract.rawjson import NotJson, whole_object


@dataclass
class Survey:
    """The state of an earlier output: `rows` complete lines in `size` bytes, and the rows to score again."""

    rows: int = 0
    size: int = 0
    retryable: array[int] = field(default_factory=lambda: array("Q"))
    verifiers: set[str] = field(default_factory=set)
    summary: Summary = field(default_factory=Summary)


def survey(output: str, rows: Iterable[Row], *, slim: bool) -> Survey:
    """Compare an earlier output with its input. Raises `Unusable` if they do not belong together."""
    found = Survey()
    if not os.path.exists(output):
        return found
    with open(output, "rb") as stream:
        for line, row in zip_longest(_complete(stream), rows):
            if line is None:
                break
            if row is None:
                raise Unusable("the output has more rows than the input", source=output)
            _check(found, line, row, output=output, slim=slim)
    return found


def _complete(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines that end in a line feed; an incomplete last line is left out."""
    for line in stream:
        if line.endswith(b"\n"):
            yield line


def _check(found: Survey, line: bytes, row: Row, *, output: str, slim: bool) -> None:
    result = result_of(line, row, slim=slim)
    if result is None:
        raise Unusable(
            f"is not the result of line {row.line} of the input: the input or --slim changed; start again",
            line=found.rows + 1,
            source=output,
        )
    error = result.get("error") or {}
    if error.get("retryable"):
        found.retryable.append(found.rows)
    else:
        found.summary.add(result)
    if "@" in str(result.get("verifier")):
        found.verifiers.add(str(result["verifier"]))
    found.rows += 1
    found.size += len(line)


def result_text(line: bytes, row: Row, *, slim: bool) -> str | None:
    """Return the JSON text of the result in an output line, or None if the line is not this row's."""
    head = row.head(slim=slim)
    start = head + ("" if head == "{" else ",") + '"result":'
    try:
        text = line.decode().rstrip("\n")
        if not text.startswith(start):
            return None
        members, _ = whole_object("{" + text[len(start) - len('"result":') :])
    except (NotJson, UnicodeDecodeError):
        return None
    return text[len(start) : -1] if list(members) == ["result"] else None


def result_of(line: bytes, row: Row, *, slim: bool) -> Mapping[str, Any] | None:
    """Return the result in an output line, decoded, or None if the line is not this row's."""
    text = result_text(line, row, slim=slim)
    try:
        result = None if text is None else json.loads(text)
    except ValueError:
        return None
    return result if isinstance(result, dict) else None


def check_version(verifier: str, offered: Mapping[str, int]) -> None:
    """Raise `Unusable` rather than mix verdicts of two versions of one verifier."""
    name, _, version = verifier.rpartition("@")
    if name in offered and str(offered[name]) != version:
        raise Unusable(f"the output was scored by {verifier}, the engine has {name}@{offered[name]}; start again")


def remaining(rows: Iterable[Row], found: Survey) -> Iterator[Row]:
    """Yield the rows without an output line."""
    return islice(iter(rows), found.rows, None)


def with_output_lines(rows: Iterable[Row], output: str, retryable: Iterable[int]) -> Iterator[Row]:
    """Yield all rows with their output lines, except those to be scored again."""
    again = iter(retryable)
    due = next(again, None)
    with open(output, "rb") as stream:
        for row, line in zip(rows, stream, strict=True):
            if row.index == due:
                due = next(again, None)
            else:
                row.done_line = line.decode().rstrip("\n")
            yield row


def truncate(output: str, size: int) -> None:
    """Remove an incomplete last line."""
    if os.path.exists(output):
        os.truncate(output, size)
