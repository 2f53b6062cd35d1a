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


class Flag(Code):
    """Flags of verdicts on which the engine acts. Verifiers have further ones of their own."""

    KILLED = "killed"
    """A program was killed twice, and neither its limits nor the sandbox account for it: the verdict is not cached."""


class ProblemCode(Code):
    """The last part of a problem document's `type`: why a request was refused as a whole."""

    BAD_REQUEST = "bad_request"
    INVALID_PARAMETER = "invalid_parameter"
    """A query parameter has a value that is not allowed."""
    INVALID_BODY = "invalid_body"
    INVALID_JSON = "invalid_json"
    INVALID_UTF8 = "invalid_utf8"
    INVALID_ENVELOPE = "invalid_envelope"
    INVALID_ITEMS = "invalid_items"
    """Some items are faulty, and the request has `?strict=1`."""
    INVALID_REFERENCE = "invalid_reference"
    """An uploaded reference is not a JSON object."""
    DUPLICATE_KEY = "duplicate_key"
    DUPLICATE_ID = "duplicate_id"
    DIGEST_MISMATCH = "digest_mismatch"
    EMPTY_BATCH = "empty_batch"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"
    UNAUTHORIZED = "unauthorized"
    FOREIGN_ORIGIN = "foreign_origin"
    UNKNOWN_HOST = "unknown_host"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    NOT_FOUND = "not_found"
    OVERLOADED = "overloaded"
    QUOTA_EXCEEDED = "quota_exceeded"
    SHUTTING_DOWN = "shutting_down"
    NO_LANES = "no_lanes"
    INTERNAL = "internal"


class Reason(Code):
    """Reasons used by more than one verifier, or by the engine itself."""

    EQUAL = "equal"
    """The answer equals the gold."""
    UNEQUAL = "unequal"
    """An answer was found, and it does not equal the gold."""
    NO_ANSWER = "no_answer"
    """The completion has no answer in the form that the reference asks for."""
    UNPARSED = "unparsed"
    """An answer was found, but it cannot be parsed in the reference's mode."""
    HEDGED = "hedged"
    """The completion offers several different answers."""
    UNDECIDED = "undecided"
    """Equality could not be decided within the limits: reward 0, and not cached."""
    TOO_LARGE = "too_large"
    """The completion exceeds its size or depth limit: reward 0."""
    RESOURCE_LIMIT = "resource_limit"
    """Scoring the completion exceeded the lane's CPU time or memory: reward 0."""
    VERIFIER_ERROR = "verifier_error"
    """The verifier failed twice on this completion and works on an empty one: reward 0."""
