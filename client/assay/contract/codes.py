"""Codes of the contract: errors of items without a verdict, reasons of refused requests, and common reasons of
verdicts.

Each is a string enumeration whose members compare, print and encode as their text. Verifiers and plugins may return
further reasons; clients must accept codes that they do not know.
"""

from __future__ import annotations

from enum import Enum


class Code(str, Enum):
    """Base class of the enumerations: a member formats as its value (like `enum.StrEnum`, which needs Python 3.11)."""

    def __str__(self) -> str:
        return str.__str__(self)

    def __format__(self, spec: str) -> str:
        return str.__format__(self, spec)


class ErrorCode(Code):
    """`error.code` of a result without a verdict."""

    INVALID_ITEM = "invalid_item"
    INVALID_REFERENCE = "invalid_reference"
    UNKNOWN_REFERENCE = "unknown_reference"
    UNSUPPORTED_LANGUAGE = "unsupported_language"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    WORKER_LOST = "worker_lost"
    OVERLOADED = "overloaded"
    DEADLINE = "deadline"
    SERVICE_UNAVAILABLE = "service_unavailable"
    """Set by the client: no service answered in time."""
    VERIFIER_ERROR = "verifier_error"
    JUDGE_FAILED = "judge_failed"
    JUDGE_UNPARSEABLE = "judge_unparseable"


ITEM_FAULTS = frozenset({ErrorCode.INVALID_ITEM, ErrorCode.INVALID_REFERENCE})
"""Codes that mean that the item itself is at fault: sending it again cannot help."""


class ProblemCode(Code):
    """The last part of a problem document's `type`: why a request was refused as a whole."""

    BAD_REQUEST = "bad_request"
    INVALID_BODY = "invalid_body"
    INVALID_JSON = "invalid_json"
    INVALID_UTF8 = "invalid_utf8"
    INVALID_ENVELOPE = "invalid_envelope"
    INVALID_ITEMS = "invalid_items"
    DUPLICATE_KEY = "duplicate_key"
    DUPLICATE_ID = "duplicate_id"
    DIGEST_MISMATCH = "digest_mismatch"
    EMPTY_BATCH = "empty_batch"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    NOT_FOUND = "not_found"
    OVERLOADED = "overloaded"
    QUOTA_EXCEEDED = "quota_exceeded"
    SHUTTING_DOWN = "shutting_down"
    NO_LANES = "no_lanes"
    INTERNAL = "internal"


class Reason(Code):
    """Reasons used by more than one verifier, or by the engine itself."""

    EQUAL = "equal"
    UNEQUAL = "unequal"
    NO_ANSWER = "no_answer"
    UNPARSED = "unparsed"
    HEDGED = "hedged"
    UNDECIDED = "undecided"
    TOO_LARGE = "too_large"
    RESOURCE_LIMIT = "resource_limit"
    VERIFIER_ERROR = "verifier_error"
