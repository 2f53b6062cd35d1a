"""Exception handlers: problem documents for the engine's errors and for errors of the service itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EngineError
from assay.service.engine.intake.frames import json_of
from assay.service.http.connection import ClientGone
from assay.service.http.problems import problem, problem_of

PROBLEM = "application/problem+json"
CLIENT_GONE = 499
TRACE_LINES = 5
log = structlog.get_logger()


def add_handlers(app: FastAPI) -> None:
    """Register a handler for every kind of exception."""
    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        EngineError: _engine_error,
        HTTPException: _http_error,
        ClientGone: _client_gone,
        ClientDisconnect: _client_gone,
        Exception: _unexpected,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


async def _engine_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, EngineError)
    return _response(problem_of(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _response(problem(error.status_code, "http", str(error.detail)))


async def _client_gone(request: Request, error: Exception) -> Response:
    return Response(status_code=CLIENT_GONE)


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("internal error", kind=type(error).__name__, path=request.url.path, where=_where(error))
    return _response(problem(500, ProblemCode.INTERNAL, "internal error; see the service's log"))


def _where(error: BaseException) -> list[str]:
    """Return files and lines of the traceback, never values, which could be a completion."""
    lines, trace = [], error.__traceback__
    while trace is not None:
        lines.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return lines[-TRACE_LINES:]


def _response(document: Mapping[str, Any]) -> Response:
    headers = {}
    if "retry_after_s" in document:
        headers["retry-after"] = str(int(document["retry_after_s"]))
    return Response(json_of(document), status_code=document["status"], headers=headers, media_type=PROBLEM)
