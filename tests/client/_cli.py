"""Rows and files for the tests of the command line."""

import json
from pathlib import Path
from typing import Any, NamedTuple

REFERENCE = {"mode": "number", "gold": "7", "extract": "hash4"}


class Ran(NamedTuple):
    """What a run of the command line left."""

    code: int
    out: str
    err: str


def row(text: str = "#### 7", **more: Any) -> dict[str, Any]:
    """A row whose gold is 7."""
    return {
        "verifier": "exact",
        "completion": text,
        "reference": {"mode": "number", "gold": "7", "extract": "hash4"},
        **more,
    }


def lines(path: str) -> list[dict[str, Any]]:
    """The rows of a JSONL file."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def write(path: str, rows: list[Any]) -> None:
    """Write rows as JSONL; strings as they stand."""
    Path(path).write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in rows))
