"""SandboxFusion: `/run_code`, `/run_jupyter`, `/submit` (with stdio tests in the request), `/v1/ping`.

The caller's code runs only in the sandbox, and no other code of the caller runs at all: `custom_extract_logic` is
refused. What a program does is a 200 (`Success`, `Failed`); a request that can never be run here is a 200 with
`SandboxError`, as in SandboxFusion; a request that may still be run is 504, the only answer that verl's client retries.
Not covered: a Jupyter kernel itself (magics, rich output other than `_repr_html_`), files outside the working folder,
`compile_timeout` (the sandbox has its own), data sets stored on the server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from assay.contract.codes import ProblemCode
from assay.service.compat.scoring import Later, body_of, encoded, respond, scored
from assay.service.compat.settings import SandboxFusionSettings
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.frames import json_of
from assay.service.engine.render import ResultFrame
from assay.service.front import Front

LANGUAGES = {
    "python": "python",
    "cpp": "cpp",
    "c": "c",
    "nodejs": "javascript",
    "bash": "bash",
    "java": "java",
    "go": "go",
    "rust": "rust",
    "csharp": "csharp",
    "typescript": "typescript",
    "ruby": "ruby",
    "php": "php",
    "R": "r",
    "lua": "lua",
    "perl": "perl",
    "scala": "scala",
}
"""SandboxFusion's language names -> the sandbox's."""
RETRY_STATUS = 504

ItemOf = Callable[[dict[str, Any]], dict[str, Any]]
AnswerOf = Callable[[dict[str, Any], ResultFrame], bytes]


def add(app: FastAPI, front: Front, settings: SandboxFusionSettings) -> None:
    """Add the routes."""

    async def run(request: Request, item_of: ItemOf, answer_of: AnswerOf) -> bytes:
        body = await body_of(request)
        (frame,) = await scored(request, front, [item_of(body)], deadline_s=settings.queue_s)
        return answer_of(body, frame)

    @app.post(settings.prefix + "/run_code", tags=["compat"])
    async def run_code(request: Request) -> Response:
        """SandboxFusion: run a program."""
        answer = run(request, run_item, lambda _, frame: json_of(run_answer(frame)))
        return await respond(answer, retry_status=RETRY_STATUS)

    @app.post(settings.prefix + "/run_jupyter", tags=["compat"])
    async def run_jupyter(request: Request) -> Response:
        """SandboxFusion: run cells of Python as a notebook does."""
        answer = run(request, cells_item, lambda _, frame: json_of(cells_answer(frame)))
        return await respond(answer, retry_status=RETRY_STATUS)

    @app.post(settings.prefix + "/submit", tags=["compat"])
    async def submit(request: Request) -> Response:
        """SandboxFusion: run a completion against stdio tests."""
        answer = run(request, submit_item, lambda body, frame: encoded(submit_answer(body, frame)))
        return await respond(answer, retry_status=RETRY_STATUS)

    @app.get(settings.prefix + "/v1/ping", tags=["compat"])
    async def ping() -> str:
        """SandboxFusion: report that the service is alive."""
        return "pong"


def run_item(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item for a `/run_code` request. Raises `EnvelopeFault`."""
    code, language = body.get("code"), body.get("language")
    files = body.get("files") or {}
    if not isinstance(code, str) or not isinstance(language, str) or not isinstance(files, dict):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "code and language must be strings, files an object")
    memory = body.get("memory_limit_MB")
    reference = {
        "language": LANGUAGES.get(language) or language,
        "stdin": body.get("stdin") or "",
        "wall_s": body.get("run_timeout", 10.0),
        "files": {name: content for name, content in files.items() if content is not None},
        "fetch": body.get("fetch_files") or [],
    }
    if isinstance(memory, int) and memory > 0:
        reference["memory_mb"] = memory
    return {"verifier": "sandbox_run", "completion": code, "reference": reference}


def run_answer(frame: ResultFrame) -> dict[str, Any]:
    """Return the answer to a `/run_code` request. Raises `Later`."""
    answer: dict[str, Any] = {
        "compile_result": None,
        "run_result": None,
        "executor_pod_name": None,
        "files": {},
        "message": "",
    }
    steps = _steps(frame)
    if not steps:
        return {"status": "SandboxError", **answer, "message": _why(frame)}
    for step in steps:
        answer[f"{step['step']}_result"] = _ran(step)
        answer["files"] = step.get("files", {})
    return {"status": "Success" if frame.reward == 1 else "Failed", **answer}


def cells_item(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item for a `/run_jupyter` request. Raises `EnvelopeFault`."""
    cells, files = body.get("cells"), body.get("files") or {}
    if not isinstance(cells, list) or not cells or not all(isinstance(cell, str) for cell in cells):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "cells: at least one text", field="cells")
    if body.get("kernel") not in (None, "python3"):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "the kernel is python3", field="kernel")
    if not isinstance(files, dict):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "files: an object", field="files")
    reference = {
        "language": "python",
        "wall_s": body.get("total_timeout", 45.0),
        "cell_s": body.get("cell_timeout") or None,
        "cells": cells,
        "files": {name: content for name, content in files.items() if content is not None},
        "fetch": body.get("fetch_files") or [],
    }
    return {"verifier": "sandbox_run", "completion": "", "reference": reference}


def cells_answer(frame: ResultFrame) -> dict[str, Any]:
    """Return the answer to a `/run_jupyter` request. Raises `Later`."""
    steps = _steps(frame)
    if not steps:
        return {
            "status": "SandboxError",
            "message": _why(frame),
            "executor_pod_name": None,
            "driver": None,
            "cells": [],
            "files": {},
        }
    (step,) = steps
    return {
        "status": "Success" if frame.reward == 1 else "Failed",
        "message": "",
        "executor_pod_name": None,
        "driver": _ran(step),
        "cells": step["cells"],
        "files": step["files"],
    }


def _ran(step: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": "TimeLimitExceeded" if step["return_code"] is None else "Finished",
        "execution_time": step["wall_s"],
        "return_code": step["return_code"],
        "stdout": step["stdout"],
        "stderr": step["stderr"],
    }


def submit_item(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item for a `/submit` request. Raises `EnvelopeFault`."""
    config = body.get("config") or {}
    completion = body.get("completion")
    if not isinstance(config, dict) or not isinstance(completion, str):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "completion must be a string, config an object")
    if config.get("custom_extract_logic"):
        raise EnvelopeFault(
            ProblemCode.INVALID_BODY, "a caller's code runs only in the sandbox", field="custom_extract_logic"
        )
    data = config.get("provided_data")
    tests = data.get("test") if isinstance(data, dict) else None
    if not isinstance(tests, list) or not tests:
        raise EnvelopeFault(
            ProblemCode.INVALID_BODY,
            "provided_data.test must hold stdio tests; no data sets are stored here",
            field="config",
        )
    language = str(config.get("language") or "python")
    reference: dict[str, Any] = {
        "language": LANGUAGES.get(language) or language,
        "mode": "stdio",
        "scoring": "fraction",
        "tests": [_test(test) for test in tests],
    }
    if config.get("run_timeout") is not None:
        reference["limits"] = {"wall_s": config["run_timeout"]}
    return {"verifier": "code", "completion": completion, "reference": reference}


def _test(test: Any) -> dict[str, Any]:
    try:
        return {"stdin": test["input"].get("stdin") or "", "expected_stdout": test["output"]["stdout"]}
    except (TypeError, KeyError, AttributeError):
        raise EnvelopeFault(
            ProblemCode.INVALID_BODY, "a test must have input.stdin and output.stdout", field="config"
        ) from None


def submit_answer(body: Mapping[str, Any], frame: ResultFrame) -> dict[str, Any]:
    """Return the answer to a `/submit` request; 422 for a row that can never be scored. Raises `Later`."""
    if frame.reward is None:
        raise EnvelopeFault(_code(frame), _why(frame))
    outcomes = _steps(frame)
    extracted = frame.json_field("extracted") or ""
    tests = [
        {"passed": outcome["status"] == "passed", "exec_info": _exec_info(outcome), "test_info": None}
        for outcome in outcomes
    ]
    return {
        "id": body.get("id", 0),
        "accepted": frame.score == 1,
        "extracted_code": extracted,
        "full_code": extracted,
        "test_code": None,
        "tests": tests,
        "extracted_type": "fenced" if extracted else "empty",
        "extra": None,
    }


_ENDED = frozenset({"passed", "wrong_output", "wrong_value"})
"""Statuses of tests whose program ended by itself."""


def _exec_info(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a test's program ended; its output is not returned."""
    status, ended = outcome["status"], outcome["status"] in _ENDED
    stopped = -outcome["signal"] if "signal" in outcome else outcome.get("exit_code") or 1
    code = 0 if ended else None if status == "timeout" else stopped
    wall_ms = outcome.get("wall_ms")
    ran = {
        "status": "TimeLimitExceeded" if status == "timeout" else "Finished",
        "return_code": code,
        "execution_time": None if wall_ms is None else wall_ms / 1000,
        "stdout": None,
        "stderr": None,
    }
    step = "compile_result" if status == "compile_error" else "run_result"
    results = {"compile_result": None, "run_result": None, step: ran}
    answer: dict[str, Any] = {
        "status": "Success" if ended else "Failed",
        "message": "",
        "executor_pod_name": None,
        "files": {},
    }
    return answer | results


def _steps(frame: ResultFrame) -> list[dict[str, Any]]:
    """Return the runs; empty for a request that can never be run. Raises `Later`."""
    if frame.error is not None and frame.error.retryable:
        raise Later(frame.error.code)
    return list(frame.json_field("tests") or ())


def _code(frame: ResultFrame) -> str:
    if frame.error is not None and frame.error.retryable:
        raise Later(frame.error.code)
    return frame.reason


def _why(frame: ResultFrame) -> str:
    return frame.error.message if frame.error is not None else frame.reason
