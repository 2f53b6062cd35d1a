"""Result of an item that is larger than any request may be, decided by the client as the service would.

The items of a request that is refused for its size are sent one by one. If an item's own request is refused too, the
part that is large decides: a large completion is the model's fault (reward 0), anything else is the row's fault (no
verdict).
"""

from __future__ import annotations

import json
from typing import Any

from assay.client.answers import Answer
from assay.client.errors import RequestRefused
from assay.client.items import Encoded
from assay.contract.codes import ErrorCode, Reason
from assay.contract.rawjson import NotJson, member_spans

_TOO_LARGE = 413


def too_large(refusal: RequestRefused) -> bool:
    """Return whether a request was refused for its size in bytes."""
    return refusal.problem.status == _TOO_LARGE and refusal.problem.field in (None, "body")


def oversized_result(item: Encoded) -> Answer:
    """Return the result of an item whose own request was refused for its size."""
    fields: dict[str, Any] = {"id": item.id}
    if 2 * _completion_bytes(item) > item.size:
        reason = Reason.TOO_LARGE.value
        fields |= {"reward": 0.0, "score": 0.0, "outcome": "incorrect", "reason": reason}
    else:
        message = "the item exceeds the maximum size of a request"
        error = {"code": ErrorCode.INVALID_ITEM.value, "message": message, "retryable": False}
        fields |= {"reward": None, "score": None, "outcome": "no_verdict", "reason": error["code"], "error": error}
    fields |= {"flags": [], "verifier": "", "timing": {}, "cached": False}
    return Answer(item.id, json.dumps(fields, separators=(",", ":")), fields)


def _completion_bytes(item: Encoded) -> int:
    try:
        start, end = member_spans(item.fields.decode() + "}").get("completion", (0, 0))
    except NotJson:
        return 0
    return end - start
