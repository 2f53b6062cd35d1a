"""An engine with the hostile plugin, one for a module, and the ways to ask it."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest_asyncio

from assay.service.engine.engine import Engine
from assay.service.engine.render import response_json, result_frame
from assay.service.engine.schedule.tickets import Submission
from assay.service.engine.settings import EngineSettings

PLUGIN = str(Path(__file__).with_name("hostile.py"))
Rows = Sequence[dict[str, Any]]


def item(completion: Any, verifier: str = "obey", reference: Any = None, **fields: Any) -> dict[str, Any]:
    return {"verifier": verifier, "completion": completion, "reference": reference or {"word": "x"}} | fields


class Asker:
    """Sends items to an engine and gives results as plain JSON."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def submit(self, rows: Rows, *, owner: str = "", **envelope: Any) -> Submission:
        body = json.dumps({"items": list(rows)} | envelope).encode()
        return self.engine.submit(self.engine.intake.read_json(body, owner=owner))

    async def finish(self, submission: Submission) -> list[dict[str, Any]]:
        await submission.done()
        frames = [result_frame(submission, index) for index in range(len(submission.results))]
        results: list[dict[str, Any]] = json.loads(response_json(frames, wall_ms=0))["results"]
        return results

    async def __call__(self, *rows: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        return await self.finish(self.submit(rows, **more))


@asynccontextmanager
async def running(**settings: Any) -> AsyncIterator[Asker]:
    engine = Engine(EngineSettings(plugins=(PLUGIN,), **settings))
    await engine.start()
    try:
        yield Asker(engine)
    finally:
        await engine.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def ask() -> AsyncIterator[Asker]:
    async with running(lanes=2, lane_memory_mb=1024) as asker:
        yield asker
