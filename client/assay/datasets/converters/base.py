"""The interface of a converter: from the records of one published dataset format to rows of the contract.

A row has the fields of an item except the completion: `id`, `group`, `verifier`, `prompt`, `reference`; and also
`source` (the converter's name), and `gold_completion` if the data has a worked answer. A converter raises `RecordFault`
for a record that does not belong to the dataset.
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
    """User options: a custom verifier and reference, answers from a second file, base-model style."""

    verifier: str | None = None
    reference: Mapping[str, Any] | None = None
    """A template over the record's columns (`assay.client.templates`)."""
    answer: Callable[[str], Any] = field(default=lambda name: None)
    """Returns the accepted answers of the record with that id, from a second file."""
    syntax: str = "auto"
    base_model: bool = False
    """True if completions continue the prompt, as a base model's do; false for chat models."""


@dataclass(frozen=True, kw_only=True)
class Converter:
    """The converter of one published format."""

    name: str
    summary: str
    columns: tuple[str, ...]
    """Columns that every record of this format has, used to recognise it."""
    convert: Convert

    def fits(self, fields: Fields) -> bool:
        """Return whether a record has this format's columns."""
        return all(name in fields for name in self.columns)

    def rows(self, record: Record, options: Options, *, number: int = 1) -> Iterator[dict[str, Any]]:
        """Yield the rows of a record, the `number`-th over all files. Raises `RecordFault`."""
        if record.fault is not None:
            raise RecordFault(record.fault)
        missing = [name for name in self.columns if name not in record.fields]
        if missing:
            raise RecordFault(f"missing column {', '.join(missing)}")
        for row in self.convert(record.fields, options):
            name = str(row.pop("id", f"{self.name}-{number}"))
            whole = {"id": name, "group": str(row.pop("group", name)), **row, "source": self.name}
            try:
                json.dumps(whole, allow_nan=False)
            except (TypeError, ValueError):
                raise RecordFault("the row would contain a value without a JSON form") from None
            yield whole


def text(fields: Fields, name: str) -> str:
    """Return a column that must be non-blank text. Raises `RecordFault`."""
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RecordFault(f"column {name} is not text")
    return value


def name_of(value: Any, *, default: str | None = None) -> dict[str, str]:
    """Return `{"id": …}` from a column that names the record, or an empty dict."""
    found = default if value is None or value == "" else str(value)
    return {} if found is None else {"id": found, "group": found}


def json_of(fields: Fields, name: str) -> Any:
    """Return the value of a column that holds JSON text or an already decoded value. Raises `RecordFault`."""
    value = fields.get(name)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise RecordFault(f"column {name} is not JSON") from None


def fenced(code: str, language: str = "python") -> str:
    """Return code in a fence, as a chat model answers it."""
    return f"```{language}\n{code.rstrip()}\n```"
