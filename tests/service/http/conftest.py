"""The app in process, with its engine, and a client that speaks ASGI to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest_asyncio
from fastapi import FastAPI

from assay.service.http.app import create_app
from assay.service.settings import Settings

JSON = {"content-type": "application/json"}


@asynccontextmanager
async def served(**settings: Any) -> AsyncIterator[tuple[FastAPI, httpx.AsyncClient]]:
    app = create_app(Settings(lanes=2, warm=(), sandbox_backends=(), **settings))
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield app, client


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with served() as (_, client):
        yield client


def exact(completion: Any = "4", **fields: Any) -> dict[str, Any]:
    reference = {"mode": "string", "gold": "4", "extract": "whole"}
    return {"verifier": "exact", "completion": completion, "reference": reference} | fields
