"""Rows of a file: each line is one JSON object, kept as its text and the spans of its members.

Only what is needed is decoded: the item that is sent and the line that is written are composed of raw slices, so
integers, floats and key order stay byte-exact. Memory is bounded by the rows in flight. `id` names a row for people;
the row's index is sent instead, so a file may repeat ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from assay.cli.columns import misnamed
from assay.cli.errors import Unusable
from assay.client.answers import Answer
from assay.client.items import Encoded
from assay.contract.item import ITEM_FIELDS
from assay.contract.rawjson import NotJson, member_spans, split_object

LONGEST_LINE = 256 << 20
"""Bytes."""
SLIM = frozenset({"completion", "prompt", "reference", "result"})
"""Members that `--slim` omits (`result` is always written anew)."""
_SENT = frozenset(ITEM_FIELDS) - {"id", "reference"}


@dataclass(slots=True)
class Row:
    """One row of the input. `done_line` is its output line if an earlier run scored it."""

    index: int
    line: int
    text: str
    spans: dict[str, tuple[int, int]]
    id: str
    group: str | None
    done_line: str | None = None
    origin: Any = None
    """The record of a Parquet row."""

    @property
    def size(self) -> int:
        """Approximate size in bytes of its item in a request."""
        return 0 if self.done_line is not None else len(self.text)

    def raw(self, name: str) -> str | None:
        """Return the JSON text of a member as it stands in the line, or None if there is no such member."""
        span = self.spans.get(name)
        return None if span is None else self.text[span[0] : span[1]]

    def value(self, name: str) -> Any:
        """Return the decoded value of a member."""
        raw = self.raw(name)
        return None if raw is None else json.loads(raw)

    def item(self, *, explain: bool = False) -> Encoded:
        """Return the item, with the row's index as id."""
        text = self.text
        fields = [f'"{name}":{text[start:end]}' for name, (start, end) in self.spans.items() if name in _SENT]
        if explain:
            fields = [field for field in fields if not field.startswith('"options":')]
            fields.append(f'"options":{json.dumps({**(self.value("options") or {}), "explain": True})}')
        reference = self.raw("reference")
        return Encoded(
            id=str(self.index),
            fields=",".join([f'{{"id":"{self.index}"', *fields]).encode(),
            reference=None if reference is None else reference.encode(),
            group=self.group,
        )

    def head(self, *, slim: bool) -> str:
        """Return the start of the output line: the row unchanged, or without its large members."""
        if not slim and "result" not in self.spans:
            return self.text[: next(reversed(self.spans.values()))[1]] if self.spans else "{"
        omitted = SLIM if slim else {"result"}
        kept = (name for name in self.spans if name not in omitted)
        return "{" + ",".join(f"{json.dumps(name)}:{self.raw(name)}" for name in kept)

    def output(self, answer: Answer, *, slim: bool) -> str:
        """Return the output line: the row with its result inserted before the closing brace."""
        return self.output_text(self.result(answer), slim=slim)

    def output_text(self, result: str, *, slim: bool) -> str:
        """Return the output line for the JSON text of a result."""
        head = self.head(slim=slim)
        comma = "" if head == "{" else ","
        return f'{head}{comma}"result":{result}}}'

    def result(self, answer: Answer) -> str:
        """Return the result's text with the row's own id (or its index if it has none)."""
        raw = self.raw("id")
        if raw is None or raw == "null":
            return answer.text
        start = f'{{"id":"{answer.id}"'
        if answer.text.startswith(start):
            return f'{{"id":{raw}{answer.text[len(start) :]}'
        members, _ = split_object(answer.text)
        _, begin, end = members["id"]
        return answer.text[:begin] + raw + answer.text[end:]


def read_rows(lines: BinaryIO, *, source: str) -> Iterator[Row]:
    """Yield the rows of a JSONL stream, lazily; blank lines are skipped. Raises `Unusable` naming the line."""
    index = 0
    for number, line in enumerate(_lines(lines, source=source), 1):
        if line.isspace() or not line:
            continue
        yield parse_row(line, index=index, line=number, source=source)
        index += 1


def parse_row(data: bytes, *, index: int, line: int, source: str) -> Row:
    """Parse one row. Raises `Unusable`."""
    try:
        text = data.decode("utf-8-sig" if index == 0 else "utf-8").strip()
        spans = member_spans(text)
    except UnicodeDecodeError:
        raise Unusable("not UTF-8", line=line, source=source) from None
    except NotJson as error:
        raise Unusable(f"not a JSON object: {error}", line=line, source=source) from None
    wrong = misnamed(spans)
    if wrong is not None:
        raise Unusable(f"column {wrong[0]!r}: did you mean {wrong[1]!r}?", line=line, source=source)
    name = _string(text, spans.get("id"))
    if name is None and spans.get("id") and text[spans["id"][0]] != "n":
        raise Unusable("field 'id' must be a string", line=line, source=source)
    return Row(
        index=index,
        line=line,
        text=text,
        spans=spans,
        id=str(index) if name is None else name,
        group=_string(text, spans.get("group")),
    )


def _string(text: str, span: tuple[int, int] | None) -> str | None:
    """Return the string at `span`, or None if there is none."""
    if span is None or text[span[0]] != '"':
        return None
    raw = text[span[0] + 1 : span[1] - 1]
    return raw if "\\" not in raw else str(json.loads(text[span[0] : span[1]]))


def _lines(stream: BinaryIO, *, source: str) -> Iterator[bytes]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise Unusable(f"longer than {LONGEST_LINE >> 20} MB", line=number, source=source)
        yield line
