"""Kill -9 of a lane, of all lanes, of the forkserver, in the middle of a batch: every result comes, none wrong."""

import asyncio
import os
import signal

import psutil
import pytest

from assay.service.engine.engine import Engine
from assay.service.engine.kinds import LaneKind
from assay.service.engine.settings import EngineSettings

from .conftest import Asker, item, running

pytestmark = pytest.mark.asyncio(loop_scope="module")
SLEEPERS = [item(f"sleep 0.01 x{n}") for n in range(120)]


async def kill_some(ask: Asker, victims: str) -> None:
    lanes = ask.engine.lanes
    if victims == "forkserver":
        assert lanes.forkserver_pid is not None
        os.kill(lanes.forkserver_pid, signal.SIGKILL)
        return
    alive = [lane.pid for lane in lanes.alive if lane.pid is not None]
    for pid in alive if victims == "all" else alive[:1]:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("victims", ["one", "all", "forkserver"])
async def test_killed_in_the_middle(ask: Asker, victims: str) -> None:
    submission = ask.submit([row | {"run": victims} for row in SLEEPERS], owner=victims)
    await asyncio.sleep(0.2)
    await kill_some(ask, victims)
    results = await asyncio.wait_for(ask.finish(submission), 60)
    assert [r["reward"] for r in results] == [1.0] * len(SLEEPERS)


async def test_killed_again_and_again(ask: Asker) -> None:
    submission = ask.submit(SLEEPERS, owner="again")
    for _ in range(4):
        await asyncio.sleep(0.25)
        await kill_some(ask, "all")
    results = await asyncio.wait_for(ask.finish(submission), 60)
    assert {r["reward"] for r in results} == {1.0}


async def test_close_leaves_no_process() -> None:
    async with running(lanes=3) as ask:
        ask.submit([item("spin"), item("sleep 30"), item("x")])
        await asyncio.sleep(0.3)
        forkserver = ask.engine.lanes.forkserver_pid
        mine = [p for p in psutil.Process().children(recursive=True) if forkserver in (p.pid, p.ppid())]
    _, alive = psutil.wait_procs(mine, timeout=10)
    assert len(mine) == 4 and not alive


async def test_a_plugin_that_cannot_be_loaded_is_said_at_the_start() -> None:
    from assay.service.engine.errors import EngineUnavailable

    engine = Engine(EngineSettings(plugins=("/nowhere/my_rewards.py",), lanes=1))
    with pytest.raises(EngineUnavailable, match="my_rewards"):
        await engine.start()


async def test_stopped_lanes_are_replaced_and_gone() -> None:
    async with running(lanes=2, stuck_s=0.5, chunk_cpu_ms=0.001) as ask:
        while len(ask.engine.lanes.ready(LaneKind.TEXT)) < 2:
            await asyncio.sleep(0.02)
        stopped = [lane.pid for lane in ask.engine.lanes.alive if lane.pid is not None]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        results = await asyncio.wait_for(ask(*[item(f"x stopped {n}") for n in range(10)]), 40)
        assert [r["reward"] for r in results] == [1.0] * 10
        _, alive = psutil.wait_procs([psutil.Process(pid) for pid in stopped if psutil.pid_exists(pid)], timeout=10)
        assert not alive
