"""From a request's bytes to work: validation, without ever reading inside a completion.

Faults of the envelope (not JSON, duplicate keys or ids, too large or deep, an unknown field at the top)
raise `EnvelopeFault`: a 4xx. Faults of one item become that item's `Fault`, and its neighbours are scored.
Not covered here: what a reference, a message or a score holds; the lane checks those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake import envelopes
from assay.service.engine.intake.codecs import Codec, IllTyped, JsonCodec, MsgpackCodec
from assay.service.engine.intake.frames import FIELDS, ItemFrame, OptionsFrame, json_of
from assay.service.engine.intake.surrogates import replace_lone
from assay.service.engine.intake.work import Batch, Fault, VerifierFacts, Work
from assay.service.engine.settings import Limits

REQUIRED = ("verifier", "completion", "reference")
LABELS = ("id", "verifier", "group", "run")
LONE_SURROGATES = "lone_surrogates"

Resolve = Callable[[str, str], bytes | None]
"""(owner, hex digest) -> an uploaded reference, or None."""


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Reads batches for one engine."""

    catalogue: Mapping[str, VerifierFacts]
    limits: Limits
    resolve: Resolve

    def read_json(self, body: bytes, *, owner: str) -> Batch:
        """A JSON body as a batch. Raises EnvelopeFault."""
        self._bound("body", len(body), self.limits.body_bytes)
        body, places = envelopes.strict(body)
        return self._read(body, JsonCodec(), owner, places)

    def read_msgpack(self, body: bytes, *, owner: str) -> Batch:
        """A msgpack body as a batch. Raises EnvelopeFault."""
        self._bound("body", len(body), self.limits.body_bytes)
        return self._read(body, MsgpackCodec(), owner, [])

    def _read(self, body: bytes, codec: Codec, owner: str, places: list[int]) -> Batch:
        envelope = envelopes.envelope(body, codec, items=self.limits.items)
        defaults = envelopes.defaults(envelope.defaults, codec)
        self._check_count(len(envelope.items))
        touched = envelopes.touched(body, envelope.items, places)
        entries = [
            self._entry(index, bytes(raw), codec, defaults, owner, touched.get(index))
            for index, raw in enumerate(envelope.items)
        ]
        return _batch(entries, owner, envelope.deadline_s)

    def read_frames(
        self,
        items: Sequence[ItemFrame],
        codec: Codec,
        *,
        defaults: ItemFrame | None,
        owner: str,
        deadline_s: float | None,
    ) -> Batch:
        """Items that are cut apart already (protobuf) as a batch. Raises EnvelopeFault."""
        self._check_count(len(items))
        envelopes.refuse_default_id(defaults)
        entries = [self._read_item(index, item, codec, defaults, owner) for index, item in enumerate(items)]
        return _batch(entries, owner, deadline_s)

    def _check_count(self, count: int) -> None:
        self._bound("items", count, self.limits.items)
        if not count:
            raise EnvelopeFault("empty_batch", "items: at least 1 item", field="items", limit=1)

    def _entry(
        self, index: int, raw: bytes, codec: Codec, defaults: ItemFrame | None, owner: str, lone: str | None
    ) -> Work | Fault:
        try:
            item: ItemFrame = codec.decode(raw, ItemFrame)
        except msgspec.ValidationError as error:
            return Fault(_loose_id(raw, codec, index), "invalid_item", *envelopes.explain(error))
        except msgspec.DecodeError:
            raise EnvelopeFault("invalid_utf8", "a string of the body is not UTF-8", status=400) from None
        if lone == "reference":
            _merge(item, defaults)
            return Fault(_name(item, index), "invalid_reference", "reference: a lone surrogate", "reference")
        entry = self._read_item(index, item, codec, defaults, owner)
        if lone is not None and isinstance(entry, Work):
            entry.flags = (LONE_SURROGATES,)
        return entry

    def _read_item(
        self, index: int, item: ItemFrame, codec: Codec, defaults: ItemFrame | None, owner: str
    ) -> Work | Fault:
        _merge(item, defaults)
        name = _name(item, index)
        try:
            return self._work(name, item, codec, owner)
        except _ItemFault as fault:
            label = item.verifier if isinstance(item.verifier, str) else ""
            detail = f"{fault.field}: {fault.detail}"
            return Fault(name, fault.code, detail, fault.field, fault.retryable, label[:80], fault.digest)

    def _work(self, name: str, item: ItemFrame, codec: Codec, owner: str) -> Work:
        self._check(item, codec)
        facts = self._facts(str(item.verifier))
        completion, lone = _mended(self._completion(item.completion, codec))  # type: ignore[arg-type]
        reference = self._reference(_json("reference", item.reference, codec), owner)
        return Work(
            id=name, facts=facts, completion=completion,
            reference=reference, reference_digest=sha256(reference).digest(), fields=_fields(item, facts, codec),
            owner=owner, group=item.group or None, run=item.run or "",
            options=self._options(item.options), truncated=item.truncated is True,
            flags=(LONE_SURROGATES,) if lone else (),
        )  # fmt: skip

    def _check(self, item: ItemFrame, codec: Codec) -> None:
        if item.verifier is UNSET or item.completion is UNSET or item.reference is UNSET:
            missing = next(field for field in REQUIRED if getattr(item, field) is UNSET)
            raise _ItemFault("invalid_item", missing, "required")
        for field in LABELS:
            label = getattr(item, field)
            if label and len(label) > self.limits.label_chars:
                raise _ItemFault("invalid_item", field, f"longer than {self.limits.label_chars} characters")
        if isinstance(item.completion_tokens, int) and item.completion_tokens < 0:
            raise _ItemFault("invalid_item", "completion_tokens", "at least 0")
        for field, kind in _KINDS.items():
            value = getattr(item, field)
            if isinstance(value, Raw) and not _is(kind, value, codec):
                raise _ItemFault("invalid_item", field, "of another type")

    def _facts(self, verifier: str) -> VerifierFacts:
        name, _, version = verifier.partition("@")
        facts = self.catalogue.get(name)
        if facts is None:
            raise _ItemFault("invalid_item", "verifier", "unknown verifier")
        if "@" in verifier and version != str(facts.version):
            raise _ItemFault("invalid_item", "verifier", f"version pinned is not {facts.name}@{facts.version}")
        return facts

    def _completion(self, value: Raw, codec: Codec) -> str | bytes:
        self._bound("completion", codec.size(value), self.limits.completion_bytes)
        try:
            return codec.text_or_json(value)
        except IllTyped as fault:
            raise _ItemFault("invalid_item", "completion", str(fault)) from None

    def _reference(self, raw: bytes, owner: str) -> bytes:
        self._bound("reference", len(raw), self.limits.reference_bytes)
        raw = raw.strip()
        if not raw.startswith(b"{"):
            raise _ItemFault("invalid_reference", "reference", "an object")
        if len(raw) > 200 or not _POINTER.match(raw):
            return raw
        return self._uploaded(raw, owner)

    def _uploaded(self, raw: bytes, owner: str) -> bytes:
        try:
            pointer = msgspec.json.decode(raw, type=dict[str, str])
        except msgspec.MsgspecError:
            raise _ItemFault("invalid_reference", "reference.$ref", "a string, and nothing beside it") from None
        digest = pointer.get("$ref", "").lower()
        if len(pointer) != 1 or not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
            raise _ItemFault("invalid_reference", "reference.$ref", "sha256: and 64 hex digits, and nothing beside it")
        digest = digest.removeprefix("sha256:")
        found = self.resolve(owner, digest)
        if found is None:
            told = "not uploaded here, or forgotten"
            raise _ItemFault("unknown_reference", "reference", told, retryable=True, digest=digest)
        return found

    def _options(self, options: OptionsFrame | msgspec.UnsetType | None) -> OptionsFrame:
        if options is None or isinstance(options, UnsetType):
            return _NO_OPTIONS
        for name in ("timeout_s", "cpu_s"):
            value, ceiling = getattr(options, name), getattr(self.limits, name)
            if value is not None and not 0 < value <= ceiling:
                raise _ItemFault("invalid_item", f"options.{name}", f"more than 0 and at most {ceiling}")
        return options

    def _bound(self, field: str, size: int, limit: int) -> None:
        if size > limit:
            unit = "items" if field == "items" else "bytes"
            detail = f"{field}: at most {limit} {unit}"
            raise EnvelopeFault("too_large", detail, status=413, field=field, limit=limit)


_NO_OPTIONS = OptionsFrame()


class _ItemFault(Exception):
    def __init__(self, code: str, field: str, detail: str, *, retryable: bool = False, digest: str = "") -> None:
        self.code, self.field, self.detail, self.retryable, self.digest = code, field, detail, retryable, digest


def _name(item: ItemFrame, index: int) -> str:
    return item.id if isinstance(item.id, str) else str(index)


def _batch(entries: list[Work | Fault], owner: str, deadline_s: float | None) -> Batch:
    if len({entry.id for entry in entries}) != len(entries):
        raise EnvelopeFault("duplicate_id", "items: two items have the same id", field="items.id")
    return Batch(entries=entries, owner=owner, deadline_s=envelopes.deadline(deadline_s))


def _merge(item: ItemFrame, defaults: ItemFrame | None) -> None:
    if defaults is not None:
        for name in FIELDS:
            if getattr(item, name) is UNSET:
                setattr(item, name, getattr(defaults, name))


def _fields(item: ItemFrame, facts: VerifierFacts, codec: Codec) -> dict[str, bytes]:
    """The further fields that the verifier reads, as JSON. Null is absent, but for a recorded state."""
    fields: dict[str, bytes] = {}
    for name in facts.forwarded:
        value = getattr(item, name)
        if value is not UNSET and value is not None:
            raw = _json(name, value, codec)
            if raw != b"null" or name == "final_state":
                fields[name] = raw
    return fields


_KINDS: dict[str, Any] = {
    "scores": dict[str, float | None] | None,
    "completion_ids": list[int] | None,
    "prompt": str | list[dict[str, Raw]] | None,
}
"""Fields that are forwarded as they are; whoever reads them may count on their type."""


def _is(kind: Any, value: Raw, codec: Codec) -> bool:
    try:
        msgspec.json.decode(codec.json(value), type=kind)
    except (msgspec.MsgspecError, IllTyped):
        return False
    return True


def _mended(completion: str | bytes) -> tuple[str | bytes, bool]:
    """Messages that came as bytes of their own (msgpack, protobuf) may hold lone surrogates too."""
    if isinstance(completion, str) or b"\\u" not in completion:
        return completion, False
    mended, places = replace_lone(completion)
    return mended, bool(places)


def _json(field: str, value: Any, codec: Codec) -> bytes:
    if isinstance(value, str | int | float | bool):
        return json_of(value)
    try:
        return codec.json(value)
    except IllTyped as fault:
        raise _ItemFault("invalid_item", field, str(fault)) from None


_POINTER = re.compile(rb'\{\s*"\$ref"\s*:')


def _loose_id(raw: bytes, codec: Codec, index: int) -> str:
    """The id of an item that is otherwise unusable."""
    try:
        name = codec.decode(raw, dict[str, Raw]).get("id")
        text = None if name is None else codec.decode(bytes(name), str | None)
    except msgspec.MsgspecError:
        return str(index)
    return str(index) if text is None else str(text)
