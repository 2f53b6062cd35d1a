"""OpenRLHF's remote reward: `--reward.remote_url http://HOST:PORT/get_reward`.

    {"query": [prompt and response, including special tokens], "prompts": [...], "labels": [...]}
    -> {"rewards": [x], "scores": [in 0..1], "extra_logs": {"graded": share, ...}}

Rows have `label`, `prompt`, `query`. The response is the query after the prompt, whose start may have been cut off;
special tokens at its end are removed. The client tries five times whatever the answer, then continues without a reward
and stops; so the answer is 503 if a verdict is still possible, and otherwise a number. A faulty row gets `constant` and
is counted in `extra_logs`, whose keys are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from assay.client.sequences import response_of, without_end
from assay.contract.codes import ProblemCode
from assay.service.compat.scoring import CompatProtocol, Verdict, any_list, body_of, respond, text_list
from assay.service.compat.settings import OpenRlhfSettings
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.frames import json_of
from assay.service.front import Front


def add(app: FastAPI, front: Front, settings: OpenRlhfSettings) -> None:
    """Add the route."""
    protocol = CompatProtocol("openrlhf", front, settings, deadline_s=settings.deadline_s)

    @app.post(settings.path, tags=["compat"])
    async def get_reward(request: Request) -> Response:
        """OpenRLHF's remote reward."""
        return await respond(_rewards(request, protocol, settings))


async def _rewards(request: Request, protocol: CompatProtocol, settings: OpenRlhfSettings) -> bytes:
    body = await body_of(request)
    queries = text_list(body, "query")
    prompts, labels = text_list(body, "prompts"), any_list(body, "labels", len(queries))
    if len(prompts) != len(queries):
        raise EnvelopeFault(
            ProblemCode.INVALID_BODY, f"prompts must be a list of length {len(queries)}", field="prompts"
        )
    rows = [
        {"query": query, "prompt": prompt, "label": label}
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    responses = [
        without_end(_response(query, prompt), settings.special_tokens)
        for query, prompt in zip(queries, prompts, strict=True)
    ]
    return json_of(_answer(protocol, await protocol.score(request, rows, responses)))


def _answer(protocol: CompatProtocol, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    numbers = [protocol.number(verdict) for verdict in verdicts]
    scores = [
        min(max(number, 0.0), 1.0) if verdict.unit_score is None else verdict.unit_score
        for number, verdict in zip(numbers, verdicts, strict=True)
    ]
    faults = sum(verdict.fault is not None for verdict in verdicts) / len(verdicts)
    correct = sum(verdict.score == 1 for verdict in verdicts) / len(verdicts)
    logs = {"assay_graded": 1.0 - faults, "assay_row_faults": faults, "assay_correct": correct}
    return {"rewards": numbers, "scores": scores, "extra_logs": logs}


def _response(query: str, prompt: str) -> str:
    try:
        return response_of(query, prompt)
    except ValueError as error:
        raise EnvelopeFault(ProblemCode.INVALID_BODY, f"query: {error}", field="query") from None
