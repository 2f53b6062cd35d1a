"""The OpenAPI document. Bodies are read as bytes, so their models are added explicitly."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from assay.contract.envelope import Problem, ScoreRequest, ScoreResponse
from assay.contract.result import Result

_MODELS: tuple[type[BaseModel], ...] = (ScoreRequest, ScoreResponse, Result, Problem)
_BODIES = {
    "/v1/score": ("application/json", "ScoreResponse"),
    "/v1/score/stream": ("application/x-ndjson", "Result"),
}


def documented(app: FastAPI) -> None:
    """Document the bodies in the app's `/docs` and `/openapi.json`."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _schema(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _schema(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    _, definitions = models_json_schema(
        [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
    )
    document.setdefault("components", {}).setdefault("schemas", {}).update(definitions["$defs"])
    for path, (media, model) in _BODIES.items():
        operation = document["paths"][path]["post"]
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref("ScoreRequest")}}}
        operation["responses"]["200"] = {"description": "Results.", "content": {media: {"schema": _ref(model)}}}
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = {
                "description": "A problem document (RFC 9457).",
                "content": {"application/problem+json": {"schema": _ref("Problem")}},
            }
    return document


def _ref(model: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model}"}
