"""OpenRLHF's remote reward: `--reward.remote_url http://HOST:PORT/get_reward`.

    {"query": [prompt and response, special tokens and all], "prompts": [...], "labels": [...]}
    -> {"rewards": [x], "scores": [in 0..1], "extra_logs": {"graded": share, ...}}

Rows have `label`, `prompt`, `query`. The response is the query after the prompt, whose head may have been
cut off; special tokens at its end are dropped. The client tries five times whatever the answer, then
goes on without a reward and stops: so 503 for what may yet be judged, and a number for the rest. A row
at fault gets `constant` and counts in `extra_logs`, whose keys are fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from assay.service.engine.errors import EngineError, EnvelopeFault
from assay.service.engine.frames import json_of
from assay.service.front import Front
from assay.service.wires.scoring import Later, Verdict, Wire, any_list, body_of, busy, text_list
from assay.service.wires.settings import OpenRlhfWire

TOKEN_CHARS, OVERLAP_CHARS = 64, 8
"""What may stand before a prompt, and how much of it a cut must leave to be known again."""


def add(app: FastAPI, front: Front, settings: OpenRlhfWire) -> None:
    """Serve it."""
    wire = Wire("openrlhf", front, settings, deadline_s=settings.deadline_s)

    @app.post(settings.path, tags=["wires"])
    async def get_reward(request: Request) -> Response:
        """OpenRLHF's remote reward."""
        try:
            body = await body_of(request)
            return Response(json_of(await _rewards(request, body, wire, settings)), media_type="application/json")
        except (Later, EngineError) as error:
            return busy(error)


async def _rewards(request: Request, body: dict[str, Any], wire: Wire, settings: OpenRlhfWire) -> dict[str, Any]:
    queries = text_list(body, "query")
    prompts, labels = any_list(body, "prompts", len(queries)), any_list(body, "labels", len(queries))
    rows = [
        {"query": query, "prompt": prompt, "label": label}
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    responses = [
        without_end(response_of(query, prompt), settings.special_tokens)
        for query, prompt in zip(queries, prompts, strict=True)
    ]
    return _answer(wire, await wire.judge(request, rows, responses))


def _answer(wire: Wire, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    numbers = [wire.number(verdict) for verdict in verdicts]
    scores = [
        min(max(number, 0.0), 1.0) if verdict.unit_score is None else verdict.unit_score
        for number, verdict in zip(numbers, verdicts, strict=True)
    ]
    faults = sum(verdict.fault is not None for verdict in verdicts) / len(verdicts)
    correct = sum(verdict.score == 1 for verdict in verdicts) / len(verdicts)
    logs = {"assay_graded": 1.0 - faults, "assay_row_faults": faults, "assay_correct": correct}
    return {"rewards": numbers, "scores": scores, "extra_logs": logs}


def response_of(query: str, prompt: Any) -> str:
    """The query after the prompt, or after that tail of the prompt that a cut left. Linear time.

    Raises EnvelopeFault if the query does not go on from the prompt: judging both would find the
    prompt's answers.
    """
    if prompt is None or prompt == "":
        return query
    if not isinstance(prompt, str):
        raise EnvelopeFault("invalid_body", "prompts: texts", field="prompts")
    if query.startswith(prompt):
        return query[len(prompt) :]
    start = query.find(prompt, 0, len(prompt) + TOKEN_CHARS)  # a token before it, such as <s>
    if start >= 0:
        return query[start + len(prompt) :]
    kept = overlap(prompt, query.lstrip("\ufffd"))
    if kept < min(OVERLAP_CHARS, len(prompt)):
        raise EnvelopeFault("invalid_body", "query: does not go on from the prompt", field="query")
    return query.lstrip("\ufffd")[kept:]


def overlap(left: str, right: str) -> int:
    """Length of the longest end of `left` that `right` begins with (Knuth, Morris, Pratt 1977)."""
    borders = [0] * len(right)
    for index in range(1, len(right)):
        borders[index] = _extended(right, borders, borders[index - 1], right[index])
    matched = 0
    for char in left[-len(right) :] if right else "":
        matched = borders[matched - 1] if matched == len(right) else matched
        matched = _extended(right, borders, matched, char)
    return matched


def _extended(text: str, borders: list[int], matched: int, char: str) -> int:
    while matched and text[matched] != char:
        matched = borders[matched - 1]
    return matched + 1 if text[matched] == char else 0


def without_end(text: str, tokens: Sequence[str]) -> str:
    """The text without the special tokens at its end, and without blanks between and after those."""
    end = len(text)
    while True:
        seen = end
        while seen and text[seen - 1].isspace():
            seen -= 1
        token = next((token for token in tokens if token and text.endswith(token, 0, seen)), None)
        if token is None:
            return text[:end]
        end = seen - len(token)
