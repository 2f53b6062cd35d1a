"""Rows and files for the tests of the command line."""

import json
from pathlib import Path
from typing import Any, NamedTuple

REFERENCE = {"mode": "number", "gold": "7", "extract": "hash4"}


class Ran(NamedTuple):
    """The exit code and output of one command."""

    code: int
    out: str
    err: str


def row(text: str = "#### 7", **more: Any) -> dict[str, Any]:
    """Return a row with gold 7."""
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
    """Write rows as JSONL; strings are written unchanged."""
    Path(path).write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in rows))
