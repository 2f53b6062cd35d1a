"""Read a document as a JSON value: JSON, YAML, TOML, XML or CSV.

Every reader is strict about what JSON has no place for: duplicate keys, NaN and infinity, aliases and tags of YAML, an
XML document type. Dates of TOML are text. XML becomes objects as xmltodict makes them: attributes are `@name`, text
beside them is `#text`, a repeated element is an array; the root element is left out unless the schema has a property of
its name. CSV becomes an array of objects, keyed by the header. Values of XML and CSV are text, read as the schema's
types (`typed_texts`).
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable, Mapping
from typing import Any
from xml.parsers.expat import ExpatError

import tomllib
import xmltodict

from assay.verifiers import strict_json
from assay.verifiers.schema.typed_texts import has_property, typed
from assay.verifiers.schema.yaml_documents import yaml_value


class DocumentFault(ValueError):
    """The text is no document of the format. `detail` names the fault, never the input."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


def read_document(text: str, format_: str, schema: Any) -> Any:
    """Return the document's JSON value, numbers exact. Raises `DocumentFault`."""
    try:
        return READERS[format_](text, schema)
    except strict_json.JsonFault as fault:
        raise DocumentFault(fault.detail) from None
    except (tomllib.TOMLDecodeError, ExpatError, csv.Error) as error:
        raise DocumentFault(f"not valid {format_.upper()}: {type(error).__name__}") from None
    except RecursionError:
        raise DocumentFault("nested too deeply") from None


def _json(text: str, schema: Any) -> Any:
    return strict_json.value_of(text)


def _yaml(text: str, schema: Any) -> Any:
    return yaml_value(text)


def _toml(text: str, schema: Any) -> Any:
    try:
        return _without_dates(tomllib.loads(text, parse_float=_toml_float))
    except ValueError as error:
        if isinstance(error, tomllib.TOMLDecodeError | strict_json.JsonFault):
            raise
        raise DocumentFault("a number has too many digits") from None


def _toml_float(text: str) -> Any:
    return strict_json.value_of(text.replace("_", "").removeprefix("+"))


def _without_dates(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_dates(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_without_dates(element) for element in value]
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value


def _xml(text: str, schema: Any) -> Any:
    try:
        document = xmltodict.parse(text, disable_entities=True)
    except ValueError:
        raise DocumentFault("a document type or an entity") from None
    ((name, content),) = document.items()
    return typed(document if has_property(schema, name) else content, schema)


def _csv(text: str, schema: Any) -> Any:
    rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row]
    if not rows:
        raise DocumentFault("no header")
    header = [name.strip() for name in rows[0]]
    if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows):
        raise DocumentFault("a column's name occurs twice, or a row has another number of columns")
    return typed([dict(zip(header, row, strict=True)) for row in rows[1:]], schema)


READERS: Mapping[str, Callable[[str, Any], Any]] = {
    "json": _json,
    "yaml": _yaml,
    "toml": _toml,
    "xml": _xml,
    "csv": _csv,
}
"""The readers by format. Each takes the text and the schema."""
