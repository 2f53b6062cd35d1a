"""What an adapter is: the shape of a published dataset, and how a record of it becomes rows of the contract.

A row has the fields of an item but the completion: `id`, `group`, `verifier`, `prompt`, `reference`; and beside them
`source` (the adapter), and `gold_completion` where the data has a worked answer. Raises `RecordFault` for what is no
record of the dataset.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.datasets.records import Record, RecordFault

Fields = Mapping[str, Any]
Convert = Callable[[Fields, "Options"], Iterator[dict[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may choose: a verifier and reference of their own, the answers beside the questions, a style."""

    verifier: str | None = None
    reference: Mapping[str, Any] | None = None
    """A template over the record's columns (`assay.client.templates`)."""
    answer: Callable[[str], Any] = field(default=lambda name: None)
    """The accepted answer of the record of that id, from a second file."""
    syntax: str = "auto"
    base_model: bool = False
    """Completions go on where the prompt ends, as a base model's do; else they are a chat model's."""


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """One published shape."""

    name: str
    summary: str
    columns: tuple[str, ...]
    """Columns that every record of this shape has: by these it is recognised."""
    convert: Convert

    def fits(self, fields: Fields) -> bool:
        """Return whether a record has this shape's columns."""
        return all(name in fields for name in self.columns)

    def rows(self, record: Record, options: Options, *, number: int = 1) -> Iterator[dict[str, Any]]:
        """Yield the rows of the record that is the `number`-th of all files. Raises `RecordFault`."""
        if record.fault is not None:
            raise RecordFault(record.fault)
        missing = [name for name in self.columns if name not in record.fields]
        if missing:
            raise RecordFault(f"no column {', '.join(missing)}")
        for row in self.convert(record.fields, options):
            name = str(row.pop("id", f"{self.name}-{number}"))
            whole = {"id": name, "group": str(row.pop("group", name)), **row, "source": self.name}
            try:
                json.dumps(whole, allow_nan=False)
            except (TypeError, ValueError):
                raise RecordFault("the row would hold a value that JSON has not") from None
            yield whole


def text(fields: Fields, name: str) -> str:
    """Return a column that must be text and not blank. Raises `RecordFault`."""
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RecordFault(f"column {name} is no text")
    return value


def name_of(value: Any, *, default: str | None = None) -> dict[str, str]:
    """`{"id": …}` from a column that names the record, or nothing."""
    found = default if value is None or value == "" else str(value)
    return {} if found is None else {"id": found, "group": found}


def json_of(fields: Fields, name: str) -> Any:
    """Return a column that is JSON text, or already what it says. Raises `RecordFault`."""
    value = fields.get(name)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise RecordFault(f"column {name} is not JSON") from None


def fenced(code: str, language: str = "python") -> str:
    """Code as a chat model answers it."""
    return f"```{language}\n{code.rstrip()}\n```"
