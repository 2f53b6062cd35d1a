"""Shared parts of the compat protocols: read bodies strictly, make items of rows, await verdicts, report faults.

A verdict is a `Verdict`; a row that cannot be scored is one with `fault`. If a verdict is still possible (queue full,
deadline, lost worker, sandbox unavailable), `Later` is raised, which each protocol answers in its own form.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from fastapi import Request
from fastapi.responses import Response

from assay.client.templates import MissingColumn, Row, RowFault, read_json, template
from assay.contract.codes import ProblemCode
from assay.contract.numbers import Lexeme
from assay.service.compat.settings import MappedSettings
from assay.service.engine.errors import (
    EngineClosed,
    EngineError,
    EngineUnavailable,
    EnvelopeFault,
    Overloaded,
    QuotaExceeded,
)
from assay.service.engine.intake.frames import json_of
from assay.service.engine.render import ResultFrame
from assay.service.front import Front
from assay.service.http.connection import while_connected
from assay.service.http.problems import problem, problem_of

log = structlog.get_logger()
RETRY_S = 1


class Later(Exception):
    """There is no verdict at present; a later request may get one."""

    def __init__(self, code: str, *, retry_after_s: float = RETRY_S) -> None:
        super().__init__(code)
        self.code, self.retry_after_s = code, retry_after_s


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict on one row. `reward` is None exactly if `fault` is set, the code of the row's own fault."""

    reward: float | None
    score: float | None
    reason: str
    fault: str | None = None
    detail: str = ""

    @classmethod
    def of(cls, frame: ResultFrame) -> Verdict:
        """Return the verdict in a result. Raises `Later`."""
        if frame.reward is not None:
            return cls(reward=frame.reward, score=frame.score, reason=frame.reason)
        error = frame.error
        assert error is not None
        if error.retryable:
            raise Later(error.code)
        return cls(reward=None, score=None, reason=frame.reason, fault=error.code, detail=error.message)

    @property
    def unit_score(self) -> float | None:
        """Correctness in [0, 1]; for a pure shaping term, its reward clipped to that range."""
        if self.score is not None or self.reward is None:
            return self.score
        return min(max(self.reward, 0.0), 1.0)


class CompatProtocol:
    """Scores rows for one compat protocol."""

    def __init__(self, name: str, front: Front, settings: MappedSettings, *, deadline_s: float) -> None:
        self.name, self._front, self._deadline_s = name, front, deadline_s
        self.settings = settings
        sources = {"verifier": settings.verifier, "reference": settings.reference, **settings.fields}
        self._fills = {field: template(source) for field, source in sources.items()}
        self._filled = False

    async def score(self, request: Request, rows: Sequence[Row], completions: Sequence[Any]) -> list[Verdict]:
        """Return one verdict per row. Raises `Later`, `EnvelopeFault`, `ClientGone`."""
        made = [self._item(row, completion) for row, completion in zip(rows, completions, strict=True)]
        items = [item for item in made if not isinstance(item, Verdict)]
        results = iter(await self._scored(request, items) if items else [])
        verdicts = [entry if isinstance(entry, Verdict) else next(results) for entry in made]
        for verdict in verdicts:
            if verdict.fault:
                log.warning("row without verdict", protocol=self.name, code=verdict.fault, detail=verdict.detail[:300])
        return verdicts

    async def _scored(self, request: Request, items: Sequence[Mapping[str, Any]]) -> list[Verdict]:
        frames = await scored(request, self._front, items, deadline_s=self._deadline_s)
        return [Verdict.of(frame) for frame in frames]

    def number(self, verdict: Verdict) -> float:
        """Return the reward, or the value that the settings give for a faulty row. Raises `EnvelopeFault`."""
        if verdict.reward is not None:
            return verdict.reward
        if self.settings.row_fault == "refuse":
            raise EnvelopeFault(verdict.fault or "invalid_item", verdict.detail or "the row cannot be scored")
        return self.settings.constant

    def _misnamed(self, fault: MissingColumn) -> EnvelopeFault:
        """Until one row could be filled, a missing column is the settings' fault: no row would get a verdict."""
        return EnvelopeFault(ProblemCode.INVALID_BODY, f"[wires.{self.name}]: {fault}", field="body")

    def _item(self, row: Row, completion: Any) -> dict[str, Any] | Verdict:
        try:
            fields = {name: fill(row) for name, fill in self._fills.items()}
        except (MissingColumn, RowFault) as fault:
            if isinstance(fault, MissingColumn) and not self._filled:
                raise self._misnamed(fault) from None
            return Verdict(reward=None, score=None, reason="invalid_item", fault="invalid_item", detail=str(fault))
        self._filled = True
        return {**{name: value for name, value in fields.items() if value is not None}, "completion": completion}


async def scored(
    request: Request, front: Front, items: Sequence[Mapping[str, Any]], *, deadline_s: float
) -> list[ResultFrame]:
    """Return the results of items; a client that disconnects cancels them. Raises `EngineError`, `ClientGone`."""
    submission = await front.submit_body(
        encoded({"items": items, "deadline_s": deadline_s}), owner=request.scope["assay.owner"]
    )
    await while_connected(request, front.wait_for_results(submission))
    return front.frames(submission, range(len(items)))


def encoded(value: Any) -> bytes:
    """Return a value from a decoded body as JSON again. Raises `EnvelopeFault` for endless nesting."""
    try:
        return msgspec.json.encode(value, enc_hook=_as_written)
    except UnicodeEncodeError:  # keep a lone surrogate as its escape; the engine's intake handles it
        return json.dumps(value, allow_nan=False).encode()
    except RecursionError:
        raise EnvelopeFault(ProblemCode.TOO_DEEP, "nested too deeply", status=400) from None


def _as_written(value: Any) -> msgspec.Raw:
    if isinstance(value, Lexeme):
        return msgspec.Raw(value.text.encode())
    raise TypeError(type(value).__name__)


async def respond(answer: Awaitable[bytes], *, retry_status: int = 503) -> Response:
    """Return an answer as JSON, or what `busy` says if there is none at present."""
    try:
        return Response(await answer, media_type="application/json")
    except (Later, EngineError) as error:
        return busy(error, status=retry_status)


def busy(error: Later | EngineError, *, status: int = 503) -> Response:
    """Return `status` with Retry-After if a retry may help, else the problem's own status."""
    document = _document(error)
    headers = {}
    if document["status"] == 503:
        document["status"] = status
        document.setdefault("retry_after_s", RETRY_S)
        headers["retry-after"] = str(int(document["retry_after_s"]))
    return Response(
        json_of(document), status_code=document["status"], headers=headers, media_type="application/problem+json"
    )


def _document(error: Later | EngineError) -> dict[str, Any]:
    if isinstance(error, Later):
        return problem(503, error.code, "no verdict at present; try again", retry_after_s=int(error.retry_after_s))
    document = problem_of(error)
    if isinstance(error, Overloaded | QuotaExceeded | EngineClosed | EngineUnavailable):
        document |= {"status": 503, "title": "Service unavailable"}
    return document


async def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body, without changing any number. Raises `EnvelopeFault`."""
    try:
        body = read_json(await request.body())
    except (ValueError, RecursionError):
        raise EnvelopeFault(ProblemCode.INVALID_JSON, "the body is not valid JSON", status=400, field="body") from None
    if not isinstance(body, dict):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "the body is not an object", field="body")
    return body


def text_list(body: Mapping[str, Any], name: str) -> list[str]:
    """Return a list of strings in the body. Raises `EnvelopeFault`."""
    value = body.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(entry, str) for entry in value):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, f"{name} must be a non-empty list of strings", field=name)
    return value


def any_list(body: Mapping[str, Any], name: str, length: int) -> list[Any]:
    """Return a list of the given length, or Nones if it is absent. Raises `EnvelopeFault`."""
    value = body.get(name)
    if value is None:
        return [None] * length
    if not isinstance(value, list) or len(value) != length:
        raise EnvelopeFault(ProblemCode.INVALID_BODY, f"{name} must be a list of length {length}", field=name)
    return value
