"""Score until there is a verdict: the retry layer of trainers, which cannot use an exception or a null.

An item whose null is retryable is sent again, and so is everything while no service answers, until the deadline.
What has no verdict by then comes back as a retryable result that says why; an outage is never raised.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable

from assay.client.answers import Answer
from assay.client.core import Chunk
from assay.client.errors import DeadlineExceeded, Overloaded, ServiceUnavailable
from assay.contract.codes import ErrorCode

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
Score = Callable[[Chunk], Awaitable[list[Answer]]]


async def score_until_verdict(chunk: Chunk, score: Score) -> list[Answer]:
    """Return one answer per item, in order. Raises RequestRefused, ProtocolError and ConfigurationError."""
    answers: dict[str, Answer] = {}
    missing, pause, why = chunk, FIRST_PAUSE_S, "not sent before the deadline"
    try:
        while missing.items:
            try:
                answers.update({answer.id: answer for answer in await score(missing)})
            except (Overloaded, ServiceUnavailable) as outage:
                why = str(outage)
            missing = chunk.only({name for name in missing.ids if name not in answers or answers[name].retryable})
            if missing.items:
                await chunk.deadline.sleep(pause * (0.5 + random.random()))
                pause = min(pause * 2, LONGEST_PAUSE_S)
    except DeadlineExceeded as late:
        why = why if answers or why != "not sent before the deadline" else str(late)
    return [answers.get(name) or _unanswered(name, why) for name in chunk.ids]


def _unanswered(name: str, why: str) -> Answer:
    """Return the result of an item for which no service gave an answer."""
    code = ErrorCode.SERVICE_UNAVAILABLE.value
    error = {"code": code, "message": why, "retryable": True}
    fields: dict[str, object] = {
        "id": name,
        "reward": None,
        "score": None,
        "outcome": "no_verdict",
        "reason": code,
        "error": error,
    }
    fields |= {"flags": [], "verifier": "", "timing": {}, "cached": False}
    return Answer(name, json.dumps(fields, separators=(",", ":")), fields)
