"""What all wires share: a body read strictly, rows made into items, verdicts awaited, faults said aloud.

A verdict is a `Verdict`; a row that cannot be judged is one with `fault`; what may yet be judged (queue
full, deadline, lost worker, no sandbox now) raises `Later`, which the wire answers in its own words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from fastapi import Request
from fastapi.responses import Response

from assay.client.templates import MissingColumn, Row, RowFault, read_json, template
from assay.contract.numbers import Lexeme
from assay.service.compat.settings import MappedWire
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
    """No verdict now; asking again may give one."""

    def __init__(self, code: str, *, retry_after_s: float = RETRY_S) -> None:
        super().__init__(code)
        self.code, self.retry_after_s = code, retry_after_s


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One row's: `reward` is None exactly where `fault` is the code of the row's own fault."""

    reward: float | None
    score: float | None
    reason: str
    fault: str | None = None
    detail: str = ""

    @classmethod
    def of(cls, frame: ResultFrame) -> Verdict:
        """What a result amounts to. Raises `Later`."""
        if frame.reward is not None:
            return cls(reward=frame.reward, score=frame.score, reason=frame.reason)
        error = frame.error
        assert error is not None
        if error.retryable:
            raise Later(error.code)
        return cls(reward=None, score=None, reason=frame.reason, fault=error.code, detail=error.message)

    @property
    def unit_score(self) -> float | None:
        """Correctness in [0, 1]; of a verdict that is pure shaping, its reward held to that."""
        if self.score is not None or self.reward is None:
            return self.score
        return min(max(self.reward, 0.0), 1.0)


class Wire:
    """Rows to verdicts, for one wire."""

    def __init__(self, name: str, front: Front, settings: MappedWire, *, deadline_s: float) -> None:
        self.name, self._front, self._deadline_s = name, front, deadline_s
        self.settings = settings
        sources = {"verifier": settings.verifier, "reference": settings.reference, **settings.fields}
        self._fills = {field: template(source) for field, source in sources.items()}

    async def judge(self, request: Request, rows: Sequence[Row], completions: Sequence[Any]) -> list[Verdict]:
        """One verdict per row. Raises `Later`, EnvelopeFault, ClientGone."""
        made = [self._item(row, completion) for row, completion in zip(rows, completions, strict=True)]
        items = [item for item in made if not isinstance(item, Verdict)]
        told = iter(await self._scored(request, items) if items else [])
        verdicts = [entry if isinstance(entry, Verdict) else next(told) for entry in made]
        for verdict in verdicts:
            if verdict.fault:
                log.warning("row without verdict", wire=self.name, code=verdict.fault, detail=verdict.detail[:300])
        return verdicts

    async def _scored(self, request: Request, items: Sequence[Mapping[str, Any]]) -> list[Verdict]:
        frames = await scored(request, self._front, items, deadline_s=self._deadline_s)
        return [Verdict.of(frame) for frame in frames]

    def number(self, verdict: Verdict) -> float:
        """The reward, or what settings say for a row at fault. Raises EnvelopeFault."""
        if verdict.reward is not None:
            return verdict.reward
        if self.settings.row_fault == "refuse":
            raise EnvelopeFault(verdict.fault or "invalid_item", verdict.detail or "the row cannot be judged")
        return self.settings.constant

    def _item(self, row: Row, completion: Any) -> dict[str, Any] | Verdict:
        try:
            fields = {name: fill(row) for name, fill in self._fills.items()}
        except (MissingColumn, RowFault) as fault:
            return Verdict(reward=None, score=None, reason="invalid_item", fault="invalid_item", detail=str(fault))
        return {**{name: value for name, value in fields.items() if value is not None}, "completion": completion}


async def scored(
    request: Request, front: Front, items: Sequence[Mapping[str, Any]], *, deadline_s: float
) -> list[ResultFrame]:
    """The results of items; nothing is left running for a client that goes away. Raises EngineError, ClientGone."""
    submission = await front.taken(
        encoded({"items": items, "deadline_s": deadline_s}), owner=request.scope["assay.owner"]
    )
    await while_connected(request, front.settled(submission))
    return front.frames(submission, range(len(items)))


def encoded(value: Any) -> bytes:
    """A value that came out of a body, as JSON again. Raises EnvelopeFault for endless nesting."""
    try:
        return msgspec.json.encode(value, enc_hook=_as_written)
    except UnicodeEncodeError:  # a lone surrogate goes as its escape: the intake says what becomes of it
        return json.dumps(value, allow_nan=False).encode()
    except RecursionError:
        raise EnvelopeFault("too_deep", "nested too deeply", status=400) from None


def _as_written(value: Any) -> msgspec.Raw:
    if isinstance(value, Lexeme):
        return msgspec.Raw(value.text.encode())
    raise TypeError(type(value).__name__)


def busy(error: Later | EngineError, *, status: int = 503) -> Response:
    """`status` with Retry-After for what may be asked again; the problem's own status for the rest."""
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
        return problem(503, error.code, "no verdict now; ask again", retry_after_s=int(error.retry_after_s))
    document = problem_of(error)
    if isinstance(error, Overloaded | QuotaExceeded | EngineClosed | EngineUnavailable):
        document |= {"status": 503, "title": "Service unavailable"}
    return document


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that was sent; no number of it is changed. Raises EnvelopeFault."""
    try:
        body = read_json(await request.body())
    except (ValueError, RecursionError):
        raise EnvelopeFault("invalid_json", "the body is not valid JSON", status=400, field="body") from None
    if not isinstance(body, dict):
        raise EnvelopeFault("invalid_body", "the body is not an object", field="body")
    return body


def text_list(body: Mapping[str, Any], name: str) -> list[str]:
    """A list of texts in the body. Raises EnvelopeFault."""
    value = body.get(name)
    if not isinstance(value, list) or not value or not all(isinstance(entry, str) for entry in value):
        raise EnvelopeFault("invalid_body", f"{name}: a list of strings, not empty", field=name)
    return value


def any_list(body: Mapping[str, Any], name: str, length: int) -> list[Any]:
    """A list as long as another, or Nones where it is absent. Raises EnvelopeFault."""
    value = body.get(name)
    if value is None:
        return [None] * length
    if not isinstance(value, list) or len(value) != length:
        raise EnvelopeFault("invalid_body", f"{name}: a list of {length}", field=name)
    return value
