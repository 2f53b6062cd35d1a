"""In a lane: a verdict, or the lack of one, as the `Report` that goes to the engine.

The optional fields of a verdict are encoded here, once, and everything after the lane passes them on by name
(`Report.fields`): native fields of the contract as plain values, all others as JSON bytes.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from assay.contract.numbers import Lexeme
from assay.contract.result import NATIVE_FIELDS, OPTIONAL_FIELDS, VerdictFields
from assay.service.engine.protocol import ErrorFrame, Kind, Report
from assay.verifiers import NeedsSandbox, NoVerdict, Verdict

EXTRACTED_CHARS = 2000
"""Characters of what was extracted that a result carries, at most."""
MESSAGE_CHARS = 500
_ALWAYS = frozenset({"reward", "score"})


def verdict_report(seq: int, verdict: Verdict) -> Report:
    """Return the report of a verdict. Raises ValueError for a reward that is not finite."""
    if not math.isfinite(verdict.reward):
        raise ValueError("reward is not finite")
    return Report(
        seq,
        Kind.VERDICT,
        reward=float(verdict.reward),
        score=verdict.score,
        reason=str(verdict.reason),
        fields=encoded_fields(verdict),
    )


def no_verdict_report(seq: int, refused: NoVerdict) -> Report:
    """Return the report of an item that got no verdict."""
    kind = Kind.NEEDS_SANDBOX if isinstance(refused, NeedsSandbox) else Kind.NO_VERDICT
    error = ErrorFrame(str(refused.code), refused.message[:MESSAGE_CHARS], refused.retryable, refused.field)
    return Report(seq, kind, error=error)


def encoded_fields(verdict: Verdict) -> dict[str, Any]:
    """Return the optional fields that are set: native ones as they are, the others as JSON bytes."""
    fields: dict[str, Any] = {}
    for name in OPTIONAL_FIELDS:
        value = getattr(verdict, name)
        if value is None or value == () or (name == "explanation" and not value):
            continue
        if name in NATIVE_FIELDS:
            fields[name] = value
        else:
            fields[name] = _bounded(value) if name == "extracted" else _json(value)
    return fields


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    """Return a part as its set fields, and a number that no float holds as its own text."""
    if isinstance(value, VerdictFields):
        names = type(value).model_fields
        entries = ((name, getattr(value, name)) for name in names)
        return {name: entry for name, entry in entries if name in _ALWAYS or (entry is not None and entry != ())}
    if isinstance(value, Lexeme) and math.isfinite(value):
        return msgspec.Raw(value.text.encode())
    raise TypeError(f"not JSON: {type(value).__name__}")


def _bounded(extracted: Any) -> bytes:
    """Return what was extracted as JSON, cut to a length that a log or page can bear."""
    if isinstance(extracted, str):
        return msgspec.json.encode(_cut(extracted))
    raw = _json(extracted)
    return raw if len(raw) <= 4 * EXTRACTED_CHARS else msgspec.json.encode(_cut(raw.decode()))


def _cut(text: str) -> str:
    return text if len(text) <= EXTRACTED_CHARS else text[:EXTRACTED_CHARS] + "…"
