"""A host that is short of descriptors or processes for a while: no item is lost, and everything is started again."""

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from assay.sandbox import Settings as Sandbox
from assay.sandbox import Supervisor
from assay.service.engine.background import Background
from assay.service.engine.workers import lane as lanes_of
from assay.service.engine.workers.forkserver_client import ForkserverClient
from assay.service.replicas.link import Link

from .conftest import item, running
from .test_background import until

pytestmark = pytest.mark.asyncio
SHORTAGES: dict[str, tuple[Any, str]] = {
    "no descriptor for a page": (lanes_of.os, "memfd_create"),
    "no descriptor for a socket": (lanes_of.socket, "socketpair"),
    "no order can be sent": (ForkserverClient, "order"),
}


@pytest.fixture
def shortage(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[list[bool]]:
    """While it holds, the named call fails."""
    owner, name = request.param
    real, short = getattr(owner, name), [False]

    def call(*args: Any, **more: Any) -> Any:
        if short[0]:
            raise OSError(24, "too many open files")
        return real(*args, **more)

    monkeypatch.setattr(owner, name, call)
    yield short
    short[0] = False


@pytest.mark.parametrize("shortage", SHORTAGES.values(), ids=SHORTAGES, indirect=True)
async def test_lanes_that_die_while_none_can_be_started_lose_no_item(shortage: list[bool]) -> None:
    async with running(lanes=2) as ask:
        submission = ask.submit([item(f"sleep 0.02 x{n}") for n in range(100)])
        await asyncio.sleep(0.2)
        shortage[0] = True
        for lane in ask.engine.lanes.alive:
            os.kill(lane.pid or 0, signal.SIGKILL)
        await asyncio.sleep(1.0)
        assert submission.open and not ask.engine.lanes.alive
        shortage[0] = False
        results = await asyncio.wait_for(ask.finish(submission), 60)
    assert [result["reward"] for result in results] == [1.0] * 100


async def test_a_forkserver_that_cannot_be_restarted_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(lanes=1) as ask:
        submission = ask.submit([item(f"sleep 0.02 x{n}") for n in range(60)])
        real, failures = ForkserverClient.start, [OSError(11, "no process"), OSError(24, "too many open files")]

        def start(self: ForkserverClient) -> None:
            if failures:
                raise failures.pop()
            real(self)

        monkeypatch.setattr(ForkserverClient, "start", start)
        os.kill(ask.engine.lanes.forkserver_pid or 0, signal.SIGKILL)
        assert await until(lambda: ask.engine.unready == "the forkserver is being restarted")
        results = await asyncio.wait_for(ask.finish(submission), 60)
        assert not failures and ask.engine.ready
    assert [result["reward"] for result in results] == [1.0] * 60


@pytest.mark.parametrize("error", [OSError(24, "too many open files"), RuntimeError("can't start new thread")])
async def test_a_first_supervisor_that_cannot_be_started_now_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    start, failures = Supervisor.start, [error]

    def failing(settings: Sandbox) -> Supervisor:
        if failures:
            raise failures.pop()
        return start(settings)

    monkeypatch.setattr(Supervisor, "start", failing)
    async with running(lanes=1, sandbox=Sandbox(slots=1)) as ask:
        tests = {"language": "python", "mode": "stdio", "tests": [{"stdin": "", "expected_stdout": "1"}]}
        submission = ask.submit([item("```python\nprint(1)\n```", "code", tests)])
        assert await until(lambda: ask.engine.unready == "the sandbox is being restarted")
        (result,) = await asyncio.wait_for(ask.finish(submission), 60)
        assert result["reward"] == 1.0 and ask.engine.ready


async def test_the_probe_of_redis_outlives_any_error(monkeypatch: pytest.MonkeyPatch) -> None:
    link, failures = Link("redis://127.0.0.1:1/0", timeout_s=0.05), [ValueError("a bad answer"), MemoryError()]

    async def answers() -> bool:
        if failures:
            raise failures.pop()
        return True

    monkeypatch.setattr(link, "_answers", answers)
    assert await link.ask(lambda redis: redis.ping()) is None and not link.up
    assert await until(lambda: link.up) and not failures
    await link.close()


async def test_a_background_task_that_was_stopped_stays_so() -> None:
    runs: list[int] = []

    async def work() -> None:
        runs.append(1)
        await asyncio.sleep(60)

    task = Background("work", work)
    task.start()
    await asyncio.sleep(0.01)
    await task.stop()
    await asyncio.sleep(0.1)
    assert runs == [1]
