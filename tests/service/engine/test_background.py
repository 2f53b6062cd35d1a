"""What runs in the background is started again after any failure, and readiness says so while it is down."""

import asyncio
import os
import signal
import time

import pytest

from assay.sandbox import Settings as Sandbox
from assay.sandbox import Supervisor, Unavailable
from assay.service.engine.background import Background
from assay.service.engine.engine import Engine
from assay.service.engine.settings import EngineSettings

pytestmark = pytest.mark.asyncio


async def until(condition: object, seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.01)
    return True


async def test_a_task_that_fails_is_started_again() -> None:
    runs: list[int] = []

    async def work() -> None:
        runs.append(1)
        if len(runs) < 4:
            raise OSError(24, "too many open files")
        await asyncio.sleep(60)

    task = Background("work", work)
    task.start()
    assert await until(lambda: len(runs) == 4 and not task.down)
    assert task.failures == 3
    task.cancel()


async def test_readiness_is_off_while_the_watch_is_down_and_lanes_are_replaced_afterwards() -> None:
    engine = Engine(EngineSettings(lanes=1))
    await engine.start()
    try:
        watch, broken = engine._dispatch.watch, [True]

        def failing() -> None:
            if broken[0]:
                raise OSError(24, "too many open files")
            watch()

        engine._dispatch.watch = failing  # type: ignore[method-assign]
        assert await until(lambda: engine.watch.down)
        assert not engine.ready and engine.unready == "the watch over lanes is down"
        broken[0] = False
        assert await until(lambda: engine.ready)
        (lane,) = engine.lanes.alive
        os.kill(lane.pid or 0, signal.SIGKILL)
        assert await until(lambda: [one.pid for one in engine.lanes.alive if one.pid] not in ([], [lane.pid]))
    finally:
        await engine.close()


async def test_a_supervisor_that_cannot_be_restarted_at_once_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(EngineSettings(lanes=1, sandbox=Sandbox()))
    await engine.start()
    try:
        await engine.open_sandbox()
        start, failures = Supervisor.start, [OSError(24, "too many open files"), Unavailable("no jail came up")]

        def failing(settings: Sandbox) -> Supervisor:
            if failures:
                raise failures.pop()
            return start(settings)

        monkeypatch.setattr(Supervisor, "start", failing)
        os.kill(engine.sandbox.pid or 0, signal.SIGKILL)
        assert await until(lambda: engine.sandbox.lost)
        assert engine.unready == "the sandbox is being restarted"
        assert await until(lambda: engine.ready, 60)
        assert not failures and engine.sandbox.restarts == 1
        body = b'{"items": [{"verifier": "code", "completion": "```python\\nprint(1)\\n```", "reference": %s}]}'
        reference = b'{"language": "python", "mode": "stdio", "tests": [{"stdin": "", "expected_stdout": "1"}]}'
        submission = engine.submit(engine.intake.read_json(body % reference, owner=""))
        await asyncio.wait_for(submission.done(), 60)
        (scored,) = submission.results
        assert scored is not None and scored.report.reward == 1.0
    finally:
        await engine.close()


async def test_an_answered_request_is_not_kept_until_its_deadline() -> None:
    engine = Engine(EngineSettings(lanes=1))
    await engine.start()
    try:
        body = b'{"deadline_s": 3600, "items": [{"verifier": "exact", "completion": "1", "reference": %s}]}'
        reference = b'{"mode": "string", "gold": "1", "extract": "whole"}'
        submission = engine.submit(engine.intake.read_json(body % reference, owner=""))
        assert submission.timer is not None
        timer = submission.timer
        await submission.done()
        assert submission.timer is None and timer.cancelled()
    finally:
        await engine.close()
