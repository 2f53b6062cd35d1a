"""From a dataset's columns to items: which verifier judges a row, and against what.

    RowMap(verifier="math", reference={"answer": "{answer}"})
    RowMap(verifier="{task}", reference="{spec!json}", fields={"truncated": "{cut}"})
    RowMap(verifier="code", reference=lambda row: {...})

Templates are `assay.client.templates`. What trainers hold columns in (numpy arrays and scalars, torch
tensors, tuples) becomes plain JSON. A row that cannot be filled in is the row's fault and costs only
itself; a column that no row has is the configuration's, and is raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.client import ConfigurationError
from assay.client.templates import MissingColumn, Row, RowFault, template
from assay.contract.item import ITEM_FIELDS
from assay.contract.numbers import Lexeme
from assay.trainer_adapter.grades import Grade

Source = str | Mapping[str, Any] | Callable[[Row], Any]
"""A template, or a function of the row. Functions must be picklable where the trainer pickles rewards."""
_OWN = frozenset({"id", "verifier", "completion", "reference"})
_DEPTH = 64


class RowMap:
    """What makes items of rows. Picklable if its functions are."""

    def __init__(self, *, verifier: str, reference: Source, fields: Mapping[str, Source] | None = None) -> None:
        """`fields`: further fields of an item, such as `prompt`, `group`, `final_state`, `options`."""
        self._sources: dict[str, Source] = {"verifier": verifier, "reference": reference, **(fields or {})}
        wrong = sorted(set(fields or {}) & _OWN | set(fields or {}) - set(ITEM_FIELDS))
        if wrong:
            raise ConfigurationError(f"not a field that can be filled in: {', '.join(wrong)}")
        self._compile()

    def _compile(self) -> None:
        self._fills = {name: source if callable(source) else template(source) for name, source in self._sources.items()}

    def __getstate__(self) -> dict[str, Any]:
        return {"_sources": self._sources}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._sources = state["_sources"]
        self._compile()

    def item(self, row: Row, completion: Any) -> dict[str, Any] | Grade:
        """The item, or the grade of a row that is at fault. Raises `MissingColumn`."""
        try:
            fields = {name: plain(fill(row)) for name, fill in self._fills.items()}
        except RowFault as fault:
            return Grade.of_row(str(fault))
        return {**{k: v for k, v in fields.items() if v is not None}, "completion": completed(completion)}

    def items(self, columns: Mapping[str, Any], completions: Sequence[Any]) -> list[dict[str, Any] | Grade]:
        """One per completion; `columns` hold one value a row each. Raises `MissingColumn`."""
        return [self.item(ColumnRow(columns, index), completion) for index, completion in enumerate(completions)]


class ColumnRow(Mapping[str, Any]):
    """One row of a batch that lies in columns."""

    def __init__(self, columns: Mapping[str, Any], index: int) -> None:
        self._columns, self._index = columns, index

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self._index]

    def __iter__(self) -> Any:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns


def plain(value: Any, depth: int = 0) -> Any:
    """`value` in JSON's own types. Raises `RowFault` for what has none: NaN, bytes, objects, endless nesting."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if depth > _DEPTH:
        raise RowFault("a column is nested too deeply")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RowFault("a column holds NaN or infinity")
        if isinstance(value, Lexeme):
            raise RowFault("a column holds a number of more digits than a float can; keep it as text")
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(member, depth + 1) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(element, depth + 1) for element in value]
    if hasattr(value, "tolist"):  # numpy, torch
        return plain(value.tolist(), depth + 1)
    raise RowFault(f"a column holds a {type(value).__name__}, which has no JSON form")


_KEPT = ("role", "name", "tool_call_id", "reasoning_content")


def completed(completion: Any) -> Any:
    """What the model wrote, as an item holds it: text, or messages of which only what judges read is kept.

    Nothing in here can fault the row: what a trainer or a tool put in beside text becomes text.
    """
    completion = _opened(completion)
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Mapping):
        completion = [completion]
    if not isinstance(completion, Sequence):
        return "" if completion is None else str(completion)
    said = map(_opened, completion)
    return [_message(message if isinstance(message, Mapping) else {"content": message}) for message in said]


def _opened(value: Any) -> Any:
    """Bytes as text; a client's message object (pydantic: `model_dump`) as the mapping that it stands for."""
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "replace")
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) and not isinstance(value, type) else value


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {name: str(message[name]) for name in _KEPT if message.get(name) is not None}
    calls = message.get("tool_calls")
    if isinstance(calls, list | tuple) and calls:
        kept["tool_calls"] = [_safe(call) for call in map(_opened, calls) if isinstance(call, Mapping)]
    return {"role": "assistant", **kept, "content": _content(message.get("content"))}


def _content(content: Any) -> str | list[dict[str, str]] | None:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return [{"type": "text", "text": text} for text in texts if isinstance(text, str)]
    return str(content)


def _safe(value: Mapping[str, Any]) -> Any:
    """A tool call in JSON; what has no JSON form is kept as its kind's name."""
    try:
        return plain(value)
    except RowFault:
        return {str(key): member if isinstance(member, str) else type(member).__name__ for key, member in value.items()}


__all__ = ["ColumnRow", "MissingColumn", "RowFault", "RowMap", "Source", "completed", "plain"]
