"""A request that is refused for what one of its items holds: the others must not pay for it.

The service refuses a body as a whole where it is too large or nested too deeply, and a model chooses
what its completion holds. So a refused request is cut in halves until the guilty item is alone. If the
same item with an empty completion is taken in, the completion is to blame: nothing excuses it, reward
0. If not, the row is: no verdict.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from assay.client.answers import Answer
from assay.client.errors import RequestRefused
from assay.client.items import Encoded
from assay.contract.rawjson import NotJson, member_spans

_STATUSES = frozenset({400, 413, 422})
_OF_ALL = ("defaults", "deadline_s", "strict")


def may_be_one_item(refusal: RequestRefused) -> bool:
    """Whether another cut of the same items may be taken in."""
    problem = refusal.problem
    return problem.status in _STATUSES and not (problem.field or "").startswith(_OF_ALL)


def blanked(item: Encoded) -> Encoded | None:
    """The item with an empty completion, or None where it cannot be read."""
    text = item.fields.decode() + "}"
    try:
        spans = member_spans(text)
    except NotJson:
        return None
    kept = [f'"{name}":{text[start:end]}' for name, (start, end) in spans.items() if name != "completion"]
    return replace(item, fields=("{" + ",".join([*kept, '"completion":""'])).encode())


def blamed(item: Encoded, refusal: RequestRefused, blank: Answer) -> Answer:
    """The completion's fault: 0, whatever it holds; what its blank got where that is no verdict."""
    if blank.fields.get("reward") is None:
        return blank
    verdict = {"reward": 0.0, "score": 0.0, "outcome": "incorrect", "reason": "resource_limit"}
    return _answer(item, verdict | {"flags": [_code(refusal)], "verifier": blank.fields.get("verifier", "")})


def unusable(item: Encoded, refusal: RequestRefused) -> Answer:
    """The row's fault: no verdict."""
    problem = refusal.problem
    error = {"code": "invalid_item", "message": problem.detail or problem.title, "retryable": False}
    if problem.field:
        error["field"] = problem.field
    verdict = {"reward": None, "score": None, "outcome": "no_verdict", "reason": "invalid_item", "error": error}
    return _answer(item, verdict | {"flags": [_code(refusal)], "verifier": ""})


def _code(refusal: RequestRefused) -> str:
    return f"refused:{refusal.problem.type.rsplit(':', 1)[-1]}"


def _answer(item: Encoded, fields: dict[str, Any]) -> Answer:
    fields = {"id": item.id, **fields, "timing": {"queue_ms": 0.0, "run_ms": 0.0, "cpu_ms": 0.0}, "cached": False}
    return Answer(item.id, json.dumps(fields, separators=(",", ":")), fields)
