"""slime's remote reward: `--rm-type remote_rm --rm-url http://HOST:PORT/slime`.

    {"prompt": text or messages, "response": text, "label": any} -> 1.0
    with the setting `reward_key` (as `--reward-key`) -> {"score": 1.0, "graded": 1.0, ...}

Rows have every field of the body. The client tries ten times with growing pauses, then stops; so the answer is 503 if a
verdict is still possible. A faulty row gets `constant` (with `graded` 0 if the answer is an object), or 422 with the
setting `refuse`.
"""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import Response

from assay.contract.codes import ProblemCode
from assay.service.compat.scoring import CompatProtocol, body_of, respond
from assay.service.compat.settings import SlimeSettings
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.frames import json_of
from assay.service.front import Front


def add(app: FastAPI, front: Front, settings: SlimeSettings) -> None:
    """Add the route."""
    protocol = CompatProtocol("slime", front, settings, deadline_s=settings.deadline_s)

    @app.post(settings.path, tags=["compat"])
    async def remote_rm(request: Request) -> Response:
        """slime's remote reward."""
        return await respond(_reward(request, protocol, settings))


async def _reward(request: Request, protocol: CompatProtocol, settings: SlimeSettings) -> bytes:
    body = await body_of(request)
    response = body.get("response")
    if not isinstance(response, str):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "response must be a string", field="response")
    row = {"prompt": None, "label": None, **body}
    (verdict,) = await protocol.score(request, [row], [response])
    number = protocol.number(verdict)
    if settings.reward_key is None:
        return json_of(number)
    answer = {"graded": float(verdict.fault is None), "correct": float(verdict.score == 1), "reason": verdict.reason}
    return json_of({**answer, settings.reward_key: number})
