"""One item of a batch: checked as far as the front process may look, and turned into `Work`.

A faulty item gets a result of its own; only a string that is not UTF-8 refuses the whole request. A completion that is
too large or too deep gets a reward of 0, as the model wrote it; any other faulty field gives no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from assay.contract.codes import ErrorCode, ProblemCode, Reason
from assay.service.engine import reports
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake import envelopes
from assay.service.engine.intake.codecs import Codec, IllTyped, TooDeep
from assay.service.engine.intake.frames import FIELDS, ItemFrame, OptionsFrame, json_of
from assay.service.engine.intake.repair import Repair
from assay.service.engine.intake.surrogates import replace_lone
from assay.service.engine.intake.work import Refused, VerifierFacts, Work
from assay.service.engine.protocol import Report
from assay.service.engine.settings import Limits

REQUIRED = ("verifier", "completion", "reference")
LABELS = ("id", "verifier", "group", "run")
LONE_SURROGATES = "lone_surrogates"
VERIFIER_CHARS = 80
"""Characters of an unknown verifier's name that its result shows, at most."""
_POINTER = re.compile(rb'\{\s*"\$ref"\s*:')
_POINTER_BYTES = 200
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_NO_OPTIONS = OptionsFrame()
_KINDS: dict[str, Any] = {
    "scores": dict[str, float | None] | None,
    "completion_ids": list[int] | None,
    "prompt": str | list[dict[str, Raw]] | None,
}
"""Types of fields that are forwarded unread; the lane relies on them."""
_KIND_NAMES = {
    "scores": "an object of numbers or nulls",
    "completion_ids": "an array of integers",
    "prompt": "a string or an array of messages",
}

T = TypeVar("T")
Resolve = Callable[[str, str], bytes | None]
"""(owner, SHA-256 in hex) -> an uploaded reference, or None."""


class ItemFault(Exception):
    """An item that intake refuses, with the report that it gets."""

    def __init__(self, report: Report, *, digest: str = "") -> None:
        super().__init__(report.reason)
        self.report, self.digest = report, digest


def fault(
    field: str,
    detail: str,
    *,
    code: ErrorCode = ErrorCode.INVALID_ITEM,
    retryable: bool = False,
    digest: str = "",
) -> ItemFault:
    """Return the fault of a field. `detail` must not echo what was sent."""
    report = reports.no_verdict(code, f"{field}: {detail}", field=field, retryable=retryable)
    return ItemFault(report, digest=digest)


@dataclass(frozen=True, kw_only=True)
class ItemReader:
    """Reads the items of one batch."""

    catalogue: Mapping[str, VerifierFacts]
    limits: Limits
    resolve: Resolve
    codec: Codec
    owner: str
    defaults: ItemFrame | None
    known: dict[tuple[str, str], Any] = attribute(default_factory=dict)
    """What was found out of values of the defaults, by what and field."""

    def read_raw(self, index: int, raw: bytes, repairs: Sequence[tuple[str, Repair]] = ()) -> Work | Refused:
        """Return an item from its bytes; `repairs` lists the fields that intake had to replace.

        Raises EnvelopeFault for a string that is not UTF-8.
        """
        try:
            item: ItemFrame = self.codec.decode(raw, ItemFrame)
        except msgspec.ValidationError as error:
            detail, field = envelopes.explain(error)
            report = reports.no_verdict(ErrorCode.INVALID_ITEM, detail, field=field)
            return Refused(_loose_id(raw, self.codec, index), report)
        except msgspec.DecodeError:  # an id or a label is not UTF-8, so no result could carry it back
            raise EnvelopeFault(ProblemCode.INVALID_UTF8, "a string of the body is not UTF-8", status=400) from None
        entry = self.read(index, item, repairs)
        if repairs and isinstance(entry, Work) and LONE_SURROGATES not in entry.flags:
            entry.flags = (*entry.flags, LONE_SURROGATES)
        return entry

    def read(self, index: int, item: ItemFrame, repairs: Sequence[tuple[str, Repair]] = ()) -> Work | Refused:
        """Return an item that is cut apart already."""
        _merge(item, self.defaults)
        name = item.id if isinstance(item.id, str) else str(index)
        try:
            for field, repair in repairs:
                _refuse_repair(field, repair)
            return self._work(name, item)
        except ItemFault as refusal:
            return Refused(name, refusal.report, self._label(item.verifier), refusal.digest)

    def _label(self, verifier: str | UnsetType) -> str:
        if not isinstance(verifier, str):
            return ""
        facts = self.catalogue.get(verifier.partition("@")[0])
        return facts.label if facts is not None else verifier[:VERIFIER_CHARS]

    def _work(self, name: str, item: ItemFrame) -> Work:
        self._check(item)
        facts = self._facts(str(item.verifier))
        completion, lone = _without_lone(self._completion(item.completion))  # type: ignore[arg-type]
        reference, digest = self._once("digest", "reference", item.reference, lambda: self._digested(item.reference))
        return Work(
            id=name,
            facts=facts,
            completion=completion,
            reference=reference,
            reference_digest=digest,
            fields=self._forwarded(item, facts),
            owner=self.owner,
            group=item.group or None,
            run=item.run or "",
            options=self._options(item.options),
            truncated=item.truncated is True,
            flags=(LONE_SURROGATES,) if lone else (),
        )

    def _check(self, item: ItemFrame) -> None:
        for field in REQUIRED:
            if getattr(item, field) is UNSET:
                raise fault(field, "required")
        for field in LABELS:
            label = getattr(item, field)
            if label and len(label) > self.limits.label_chars:
                raise fault(field, f"must be at most {self.limits.label_chars} characters")
        if isinstance(item.completion_tokens, int) and item.completion_tokens < 0:
            raise fault("completion_tokens", "must be at least 0")
        for field, kind in _KINDS.items():
            value = getattr(item, field)
            if isinstance(value, Raw) and not self._is(field, kind, value):
                raise fault(field, f"must be {_KIND_NAMES[field]}")

    def _is(self, field: str, kind: Any, value: Raw) -> bool:
        return self._once("is", field, value, lambda: self._decodes(kind, value))

    def _once(self, what: str, field: str, value: Any, work: Callable[[], T]) -> T:
        """Return the result of `work`, which is done once a batch for a value that all items have from the defaults."""
        if self.defaults is None or value is not getattr(self.defaults, field):
            return work()
        if (what, field) not in self.known:
            self.known[what, field] = work()
        found: T = self.known[what, field]
        return found

    def _decodes(self, kind: Any, value: Raw) -> bool:
        try:
            msgspec.json.decode(self.codec.json(value), type=kind)
        except (msgspec.MsgspecError, IllTyped):
            return False
        return True

    def _facts(self, verifier: str) -> VerifierFacts:
        name, _, version = verifier.partition("@")
        facts = self.catalogue.get(name)
        if facts is None:
            raise fault("verifier", "unknown verifier")
        if "@" in verifier and version != str(facts.version):
            raise fault("verifier", f"must be {facts.name} or {facts.label}: no other version is available")
        return facts

    def _completion(self, value: Raw) -> str | bytes:
        if self.codec.size(value) > self.limits.completion_bytes:
            raise ItemFault(reports.zero(Reason.TOO_LARGE))
        try:
            return self.codec.text_or_json(value)
        except TooDeep:
            raise ItemFault(reports.zero(Reason.TOO_LARGE)) from None
        except IllTyped as error:
            raise fault("completion", str(error)) from None

    def _digested(self, value: Any) -> tuple[bytes, bytes]:
        """Return a reference and its SHA-256. Raises ItemFault."""
        reference = self._reference(self._json("reference", value))
        return reference, sha256(reference).digest()

    def _reference(self, raw: bytes) -> bytes:
        if len(raw) > self.limits.reference_bytes:
            detail = f"must be at most {self.limits.reference_bytes} bytes"
            raise fault("reference", detail, code=ErrorCode.INVALID_REFERENCE)
        raw = raw.strip()
        if not raw.startswith(b"{"):
            raise fault("reference", "must be an object", code=ErrorCode.INVALID_REFERENCE)
        if len(raw) > _POINTER_BYTES or not _POINTER.match(raw):
            return raw
        return self._uploaded(raw)

    def _uploaded(self, raw: bytes) -> bytes:
        try:
            pointer = msgspec.json.decode(raw, type=dict[str, str])
        except msgspec.MsgspecError:
            pointer = {}
        digest = _DIGEST.fullmatch(pointer.get("$ref", "").lower())
        if len(pointer) != 1 or digest is None:
            detail = "must be sha256: and 64 hex digits, and the only key of its object"
            raise fault("reference.$ref", detail, code=ErrorCode.INVALID_REFERENCE)
        found = self.resolve(self.owner, digest[1])
        if found is None:
            detail, code = "not uploaded to this service, or evicted", ErrorCode.UNKNOWN_REFERENCE
            raise fault("reference", detail, code=code, retryable=True, digest=digest[1])
        return found

    def _options(self, options: OptionsFrame | UnsetType | None) -> OptionsFrame:
        if options is None or isinstance(options, UnsetType):
            return _NO_OPTIONS
        for name in ("timeout_s", "cpu_s"):
            value, ceiling = getattr(options, name), getattr(self.limits, name)
            if value is not None and not 0 < value <= ceiling:
                raise fault(f"options.{name}", f"must be more than 0 and at most {ceiling}")
        return options

    def _forwarded(self, item: ItemFrame, facts: VerifierFacts) -> dict[str, bytes]:
        """Return the further fields that the verifier reads, as JSON. Null is absent, except as a recorded state."""
        fields: dict[str, bytes] = {}
        for name in facts.forwarded:
            value = getattr(item, name)
            if value is not UNSET and value is not None:
                raw = self._once("json", name, value, partial(self._json, name, value))
                if raw != b"null" or name == "final_state":
                    fields[name] = raw
        return fields

    def _json(self, field: str, value: Any) -> bytes:
        if isinstance(value, str | int | float | bool):
            return json_of(value)
        try:
            return self.codec.json(value)
        except IllTyped as error:
            bad_reference = field == "reference" and isinstance(error, TooDeep)
            code = ErrorCode.INVALID_REFERENCE if bad_reference else ErrorCode.INVALID_ITEM
            raise fault(field, str(error), code=code) from None


def _refuse_repair(field: str, repair: Repair) -> None:
    """Raise ItemFault for a field that must not be scored with its replacement. Return for a flagged surrogate."""
    if field == "reference":
        raise fault(field, repair.value, code=ErrorCode.INVALID_REFERENCE)
    if repair is Repair.SURROGATE:
        return  # scored with U+FFFD in its place, and flagged
    if field == "completion":
        raise ItemFault(reports.zero(Reason.TOO_LARGE))
    raise fault(field[:VERIFIER_CHARS], repair.value)


def _merge(item: ItemFrame, defaults: ItemFrame | None) -> None:
    if defaults is not None:
        for name in FIELDS:
            if getattr(item, name) is UNSET:
                setattr(item, name, getattr(defaults, name))


def _without_lone(completion: str | bytes) -> tuple[str | bytes, bool]:
    """Replace lone surrogates in messages that came as bytes of their own (msgpack, protobuf)."""
    if isinstance(completion, str) or b"\\u" not in completion:
        return completion, False
    replaced = replace_lone(completion)
    return replaced, replaced != completion


def _loose_id(raw: bytes, codec: Codec, index: int) -> str:
    """Return the id of an item that is otherwise unusable, or its index."""
    try:
        name = codec.decode(raw, dict[str, Raw]).get("id")
        text = None if name is None else codec.decode(bytes(name), str | None)
    except msgspec.MsgspecError:
        return str(index)
    return str(index) if text is None else str(text)
