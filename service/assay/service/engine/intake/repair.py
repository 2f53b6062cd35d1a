"""Make a JSON body strict where only single items are at fault, and say which of their fields was changed.

Three faults of a value make a strict parser refuse the whole body, although only one item is faulty: a lone surrogate,
nesting that is too deep, a number with too many digits. A lone surrogate becomes U+FFFD; a field of an item that holds
one of the others becomes `null`. Replacements have the length of what they replace, so that offsets stay valid.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from assay.contract.codes import ProblemCode
from assay.contract.numbers import DIGITS_LIMIT
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.surrogates import replace_lone
from assay.verifiers import strict_json

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{},]|[0-9][0-9.eE+\-]*+', re.DOTALL)
_COLON = re.compile(rb"\s*+:")
_ITEM_DEPTH = 2
"""Depth of the array of items: object, then array."""


class Repair(Enum):
    """What was replaced."""

    SURROGATE = "a lone surrogate"
    TOO_DEEP = f"nested deeper than {strict_json.DEPTH_LIMIT}"
    NUMBER = f"a number longer than {DIGITS_LIMIT} digits"


@dataclass
class Repairs:
    """What was replaced in a body: fields as a whole by their offsets, and surrogates by the bytes before and after."""

    fields: list[tuple[int, Repair]] = field(default_factory=list)
    before: bytes = b""
    after: bytes = b""

    def __bool__(self) -> bool:
        return bool(self.fields or self.after)


def strict(body: bytes) -> tuple[bytes, Repairs]:
    """Return the body as strict JSON, and what was replaced. Raises EnvelopeFault."""
    repairs = Repairs()
    for _ in range(3):  # one pass for surrogates, one for depth and digits, one to confirm
        try:
            strict_json.parse(body)
            return body, repairs
        except strict_json.JsonFault as fault:
            repaired = _repaired(body, fault, repairs)
            if repaired == body:
                raise EnvelopeFault(fault.code, fault.detail, status=400, limit=fault.limit) from None
            body = repaired
    raise EnvelopeFault(ProblemCode.INVALID_JSON, "not valid JSON", status=400)


def _repaired(body: bytes, fault: strict_json.JsonFault, repairs: Repairs) -> bytes:
    if fault.code == "invalid_unicode":
        repairs.before, repairs.after = body, replace_lone(body)
        return repairs.after
    return _without_excess(body, repairs) if fault.code in ("too_deep", "number_too_long") else body


def _without_excess(body: bytes, repairs: Repairs) -> bytes:
    patched = bytearray(body)
    for start, end, repair in _excessive_members(body):
        patched[start:end] = b"null".ljust(end - start)
        repairs.fields.append((start, repair))
    return bytes(patched)


def _excessive_members(body: bytes) -> Iterator[tuple[int, int, Repair]]:
    """Yield start, end and fault of each field of an item that holds too much. Linear in the body."""
    for start, end, deepest, digits in _members(body, _ITEM_DEPTH + 1):
        if deepest > strict_json.DEPTH_LIMIT:
            yield start, end, Repair.TOO_DEEP
        elif digits > DIGITS_LIMIT:
            yield start, end, Repair.NUMBER


def _members(text: bytes, level: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (start, end, deepest nesting, longest number) of each object member at a depth of `level`."""
    depth, deepest, digits = 0, 0, 0
    start: int | None = None
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in b"]},":
            if depth == level and start is not None:
                yield start, token.start(), deepest, digits
                start = None
            depth -= first != ord(",")
        elif first == ord('"'):
            if depth == level and start is None and (colon := _COLON.match(text, token.end())):
                start, deepest, digits = colon.end(), depth, 0
        else:
            digits = max(digits, token.end() - token.start())


def by_item(body: bytes, items: Sequence[bytes], repairs: Repairs) -> dict[int, list[tuple[str, Repair]]]:
    """Return, for each item that was changed, its changed fields and what was replaced in them. Linear in the body."""
    if not repairs:
        return {}
    starts, cursor = [], 0
    for raw in items:
        cursor = body.index(raw, cursor)
        starts.append(cursor)
        cursor += len(raw)
    excess: dict[int, list[tuple[int, Repair]]] = {}
    for offset, repair in repairs.fields:
        index = bisect_right(starts, offset) - 1
        if index >= 0 and offset < starts[index] + len(items[index]):
            excess.setdefault(index, []).append((offset - starts[index], repair))
    touched = {}
    for index, (start, raw) in enumerate(zip(starts, items, strict=True)):
        before, after = (one[start : start + len(raw)] for one in (repairs.before, repairs.after))
        if before != after or index in excess:
            touched[index] = _fields_of(raw, excess.get(index, ()), before, after)
    return touched


def _fields_of(
    item: bytes, excess: Sequence[tuple[int, Repair]], before: bytes, after: bytes
) -> list[tuple[str, Repair]]:
    """Return the fields that were changed; a change in a field's name counts as of no field."""
    spans = [(start, end, _name_before(item, start)) for start, end, _, _ in _members(item, 1)]
    by_start = {start: name for start, _, name in spans}
    found = [(by_start.get(offset, ""), repair) for offset, repair in excess]
    if before != after:
        changed = [name for start, end, name in spans if before[start:end] != after[start:end]]
        edges = [0, *(edge for start, end, _ in spans for edge in (start, end)), len(item)]
        outside = zip(edges[::2], edges[1::2], strict=True)
        found += [(name, Repair.SURROGATE) for name in changed]
        found += [("", Repair.SURROGATE) for start, end in outside if before[start:end] != after[start:end]]
    return list(dict.fromkeys(found))


def _name_before(item: bytes, start: int) -> str:
    """Return the name of the member whose value begins at `start`."""
    colon = item.rindex(b":", 0, start)
    close = item.rindex(b'"', 0, colon)
    return item[item.rindex(b'"', 0, close) + 1 : close].decode("utf-8", "replace")
