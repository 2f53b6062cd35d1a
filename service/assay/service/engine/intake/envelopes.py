"""The envelope of a batch: the list of items and their defaults. Its faults refuse the whole request."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.codecs import Codec
from assay.service.engine.intake.frames import Envelope, ItemFrame

_UNKNOWN = re.compile(r"unknown field `([^`]*)`")
_TOO_MANY = "of length <="
_AT = re.compile(r" - at `\$\.?(.*)`$")


@cache
def _bounded(items: int) -> Any:
    """Return an envelope type with at most `items` items, so that a larger msgpack array is refused by its header."""
    return msgspec.defstruct(
        "Bounded",
        [("items", Annotated[list[Raw], Meta(max_length=items)])],
        bases=(Envelope,),
        forbid_unknown_fields=True,
    )


def envelope(body: bytes, codec: Codec, *, items: int) -> Envelope:
    """Return the envelope, split into at most `items` items. Raises EnvelopeFault."""
    try:
        envelope: Envelope = codec.decode(body, _bounded(items))
    except msgspec.ValidationError as error:
        detail, field = explain(error)
        if _TOO_MANY in detail and field == "items":
            detail = f"items: at most {items} items"
            raise EnvelopeFault(ProblemCode.TOO_LARGE, detail, status=413, field=field, limit=items) from None
        raise EnvelopeFault(ProblemCode.INVALID_ENVELOPE, detail, field=field) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "the body cannot be decoded", status=400) from None
    return envelope


def defaults(raw: Raw | UnsetType, codec: Codec) -> ItemFrame | None:
    """Return the defaults, or None. Raises EnvelopeFault."""
    if isinstance(raw, UnsetType):
        return None
    try:
        defaults: ItemFrame | None = codec.decode(bytes(raw), ItemFrame | None)
    except msgspec.ValidationError as error:
        detail, field = explain(error)
        raise EnvelopeFault(
            ProblemCode.INVALID_ENVELOPE, f"defaults: {detail}", field=f"defaults.{field}" if field else "defaults"
        ) from None
    refuse_default_id(defaults)
    return defaults


def refuse_default_id(defaults: ItemFrame | None) -> None:
    """Raise EnvelopeFault for defaults that set an id."""
    if defaults is not None and defaults.id is not UNSET:
        detail = "defaults.id: must be absent, since an id belongs to one item"
        raise EnvelopeFault(ProblemCode.INVALID_ENVELOPE, detail, field="defaults.id")


def deadline(value: float | None) -> float | None:
    """Check a deadline in seconds: finite and above 0, or None. Raises EnvelopeFault."""
    if value is not None and not (math.isfinite(value) and value > 0):
        detail = "deadline_s: must be a finite number above 0"
        raise EnvelopeFault(ProblemCode.INVALID_ENVELOPE, detail, field="deadline_s", limit=0)
    return value


def explain(error: msgspec.ValidationError) -> tuple[str, str | None]:
    """Return what is wrong, and the field, from msgspec's message (which names types and fields, not values)."""
    message = str(error)
    at = _AT.search(message)
    path = at[1] if at else ""
    unknown = _UNKNOWN.search(message)
    if unknown:
        field = f"{path}.{unknown[1]}".lstrip(".")[:80]
        return f"{field}: unknown field", field
    wrong = _AT.sub("", message)[:120]
    return (f"{path}: {wrong}" if path else wrong), path or None
