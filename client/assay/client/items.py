"""Encode items: each item once, with its id set before chunking.

An item is a mapping or an `Item`. Its JSON is kept in two pieces, the reference apart, because a large reference shared
by a group may be sent once and then be named by its hash. Integers stay exact; a lone surrogate in a text is sent as
its escape `\\udXXX` (the service replaces and flags it). Mappings are not validated here: the service validates each
item, and a faulty item affects only its own result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assay.client.errors import refused
from assay.contract.item import Item

ItemLike = Item | Mapping[str, Any]


@dataclass(frozen=True)
class Encoded:
    """One item. `fields` is its JSON object without the reference and without the closing brace."""

    id: str
    fields: bytes
    reference: bytes | None
    group: str | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the reference's bytes, in hex."""
        return hashlib.sha256(self.reference or b"").hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the item including its reference."""
        return len(self.fields) + len(self.reference or b"") + 16

    def body(self, *, by_digest: bool = False) -> bytes:
        """Return the whole object; `by_digest` names the reference by its hash."""
        if self.reference is None:
            return self.fields + b"}"
        reference = b'{"$ref":"sha256:%s"}' % self.digest.encode() if by_digest else self.reference
        return b'%s,"reference":%s}' % (self.fields, reference)


def to_json(value: Any) -> bytes:
    """Return compact JSON bytes. Raises `ValueError` for NaN, `TypeError` for a value without a JSON form."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def encode_items(items: Iterable[ItemLike]) -> list[Encoded]:
    """Encode every item. Raises `RequestRefused` for a duplicate id or a value without a JSON form."""
    known: dict[int, tuple[Any, bytes]] = {}
    encoded = [_encode(item, index, known) for index, item in enumerate(items)]
    check_ids(encoded)
    return encoded


def check_ids(items: Sequence[Encoded]) -> None:
    """Raise `RequestRefused` if two items have the same id."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item.id in seen:
            raise refused(f"items[{index}] repeats the id of an earlier item", field="id", code="duplicate_id")
        seen.add(item.id)


def _encode(item: ItemLike, index: int, known: dict[int, tuple[Any, bytes]]) -> Encoded:
    if isinstance(item, Item):
        item = item.model_dump(exclude_unset=True, by_alias=True)
    if not isinstance(item, Mapping):
        raise refused(f"items[{index}] is not an object", field="items")
    fields = dict(item)
    name = fields.pop("id", None)
    name = str(index) if name is None else name
    if not isinstance(name, str):
        raise refused(f"items[{index}].id is not a string", field="id")
    if not name.isascii() and any("\ud800" <= char <= "\udfff" for char in name):
        raise refused(f"items[{index}].id contains a lone surrogate, which cannot be echoed in the result", field="id")
    has_reference, reference = "reference" in fields, fields.pop("reference", None)
    group = fields.get("group")
    try:
        return Encoded(
            id=name,
            fields=to_json({"id": name, **fields})[:-1],
            reference=_encode_once(reference, known) if has_reference else None,
            group=group if isinstance(group, str) else None,
        )
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(error).__name__
        raise refused(f"items[{index}] has no JSON form ({kind})", field="items") from None


def _encode_once(reference: Any, known: dict[int, tuple[Any, bytes]]) -> bytes:
    """Encode a reference, once per object: rollouts of a group usually share the same object.

    The object is kept with its bytes, so that its `id()` cannot be reused meanwhile.
    """
    if id(reference) not in known:
        known[id(reference)] = (reference, to_json(reference))
    return known[id(reference)][1]
