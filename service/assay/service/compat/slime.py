"""slime's remote reward: `--rm-type remote_rm --rm-url http://HOST:PORT/slime`.

    {"prompt": text or messages, "response": text, "label": any} -> 1.0
    with settings' `reward_key` (as `--reward-key`) -> {"score": 1.0, "graded": 1.0, ...}

Rows have every field of the body. The client tries ten times with growing pauses, then stops: so 503
for what may yet be judged. A row at fault gets `constant` (with `graded` 0 where the answer is an
object), or 422 where settings say `refuse`.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from assay.service.compat.scoring import Later, Wire, body_of, busy
from assay.service.compat.settings import SlimeWire
from assay.service.engine.errors import EngineError, EnvelopeFault
from assay.service.engine.intake.frames import json_of
from assay.service.front import Front


def add(app: FastAPI, front: Front, settings: SlimeWire) -> None:
    """Serve it."""
    wire = Wire("slime", front, settings, deadline_s=settings.deadline_s)

    @app.post(settings.path, tags=["wires"])
    async def remote_rm(request: Request) -> Response:
        """slime's remote reward."""
        try:
            body = await body_of(request)
            return Response(json_of(await _reward(request, body, wire, settings)), media_type="application/json")
        except (Later, EngineError) as error:
            return busy(error)


async def _reward(request: Request, body: dict[str, Any], wire: Wire, settings: SlimeWire) -> Any:
    response = body.get("response")
    if not isinstance(response, str):
        raise EnvelopeFault("invalid_body", "response: a text", field="response")
    row = {"prompt": None, "label": None, **body}
    (verdict,) = await wire.judge(request, [row], [response])
    number = wire.number(verdict)
    if settings.reward_key is None:
        return number
    told = {"graded": float(verdict.fault is None), "correct": float(verdict.score == 1), "reason": verdict.reason}
    return {**told, settings.reward_key: number}
