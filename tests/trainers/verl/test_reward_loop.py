"""verl's own RewardLoopWorker: neither a row's fault nor an outage is ever a 0, a NaN, a hang or a KeyError."""

import asyncio
import math
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker

from assay.trainer_adapter.missing import Stopped
from assay.trainer_adapter.sessions import close_all
from assay.trainer_adapter.single import KEYS

from .._service import Service, free_port
from ._batch import MANAGERS, batch, configured

BIG = "12345678901234567890123456789012"
SAID = [r"\boxed{4}", r"\boxed{5}", r"\boxed{4}", rf"\boxed{{{BIG}}}", rf"\boxed{{{BIG[:-1]}3}}"]
TRUTH = ["4", "4", None, BIG, BIG]
WANTED = [1.0, 0.0, 0.5, 1.0, 0.0]
SOON = "+reward.custom_reward_function.reward_kwargs.deadline_s=3"


@pytest.fixture(scope="module")
def own() -> Iterator[Service]:
    """A service that may be killed."""
    one = Service()
    yield one
    one.kill()
    close_all()


def scored(config: Any, data: Any) -> list[dict[str, Any]]:
    async def run() -> list[dict[str, Any]]:
        return await RewardLoopWorker(config).compute_score_batch(data)

    return asyncio.run(run())


@pytest.mark.parametrize("manager", MANAGERS)
def test_every_manager_scores_a_batch_with_a_faulty_row_in_it(manager: str, service: Service) -> None:
    told = scored(configured(service.http, manager), batch(SAID, TRUTH))
    assert [one["reward_score"] for one in told] == WANTED
    extra = [one["reward_extra_info"] for one in told]
    assert all(set(info) == set(KEYS) for info in extra)
    assert [info["graded"] for info in extra] == [1.0, 1.0, 0.0, 1.0, 1.0]
    assert extra[2]["row_fault"] == 1.0 and extra[2]["reason"] == "invalid_reference"
    assert all(math.isfinite(value) for info in extra for value in info.values() if isinstance(value, float))


@pytest.mark.parametrize("manager", MANAGERS)
def test_an_outage_stops_the_run_and_never_gives_a_number(manager: str) -> None:
    config = configured(f"http://127.0.0.1:{free_port()}", manager, SOON)
    started = time.monotonic()
    with pytest.raises(Stopped, match="have no verdict"):
        scored(config, batch(SAID, TRUTH))
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("manager", ["dapo", "rate_limited"])
def test_an_outage_shorter_than_the_deadline_is_borne(manager: str, own: Service) -> None:
    config = configured(own.http, manager)
    scored(config, batch(SAID, TRUTH))
    own.kill()
    back = threading.Timer(1.0, own.start)
    back.start()
    assert [one["reward_score"] for one in scored(config, batch(SAID, TRUTH))] == WANTED
    back.join()


def test_a_wrong_verifier_stops_the_start_under_rate_limited(service: Service) -> None:
    config = configured(service.http, "rate_limited", 'reward.custom_reward_function.reward_kwargs.verifier="no_such"')
    with pytest.raises(Stopped, match="refuses the verifier"):
        scored(config, batch(SAID, TRUTH))


def test_the_managers_own_time_out_is_no_reward_of_0() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", free_port()))
        deaf.listen(64)
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        config = configured(url, "rate_limited", "+reward.timeout=0.5")
        with pytest.raises(Stopped, match=r"reward\.timeout"):
            scored(config, batch(SAID, TRUTH))
    close_all()


async def _nothing(**_: Any) -> dict[str, Any]:
    return dict.fromkeys(KEYS, 0.0)


def test_4096_samples_at_once_travel_together(service: Service) -> None:
    count = 4096
    data = batch([rf"\boxed{{{n}}}" for n in range(count)], [str(n - n % 2) for n in range(count)])
    worker = None

    async def run(compute: Any = None) -> tuple[list[dict[str, Any]], float]:
        nonlocal worker
        worker = RewardLoopWorker(configured(service.http))
        if compute is not None:
            worker.reward_manager.compute_score = compute
        before = time.process_time()
        return await worker.compute_score_batch(data), time.process_time() - before

    asyncio.run(run())  # connections and lanes are there
    sockets, cpu = service.sockets(), service.cpu_s()
    told, mine = asyncio.run(run())
    front = service.cpu_s() - cpu
    _, bare = asyncio.run(run(_nothing))
    assert [one["reward_score"] for one in told] == [float(n % 2 == 0) for n in range(count)]
    assert service.sockets() <= sockets + 8, "no storm of connections"
    print(f"\nCPU a call: adapter {(mine - bare) / count * 1e6:.0f} us, front {front / count * 1e6:.0f} us")
    assert (mine - bare) / count < 2e-3 and front / count < 2e-3
