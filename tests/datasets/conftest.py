"""Files of records, and a client of a shared embedded engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from assay.datasets import Options, Record, convert, find, read

SHARED = Path(__file__).parents[3] / "shared"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write records as JSON lines; strings are written unchanged."""

    def lines(records: Iterable[Any], name: str = "data.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
        return path

    return lines


def rows_of(converter: str, *records: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    """Return the rows of records; a fault fails the test."""

    def fault(record: Record, why: str) -> None:
        raise AssertionError(why)

    given = (Record("test", place, fields) for place, fields in enumerate(records, 1))
    return list(convert(given, find(converter), Options(**options), fault))


def faults_of(converter: str, path: Path) -> tuple[int, list[tuple[int, str]]]:
    """Return the converted rows, and (place, reason) of the skipped records."""
    left_out: list[tuple[int, str]] = []
    rows = convert(read([path]), find(converter), Options(), lambda record, why: left_out.append((record.place, why)))
    return sum(1 for _ in rows), left_out
