"""Two real replicas with Redis: one replica and Redis are killed under load, and no item is lost or repeated."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest

from assay.client import Client

from ..service.replicas.conftest import SECRET, RedisServer, redis_server
from ._service import free_port, serving

__all__ = ["redis_server"]
COUNT = 2000


@pytest.fixture
def pair(redis_server: RedisServer) -> Iterator[list[tuple[str, psutil.Process]]]:
    """The URLs and processes of two replicas."""
    redis = {"ASSAY_REDIS__URL": redis_server.url, "ASSAY_REDIS__SECRET": SECRET, "ASSAY_SANDBOX_BACKENDS": "[]"}
    with ExitStack() as stack:
        ports = [free_port(), free_port()]
        yield [(f"http://127.0.0.1:{port}", stack.enter_context(serving(port, **redis))) for port in ports]


def test_killing_a_replica_and_redis_loses_no_item(
    pair: list[tuple[str, psutil.Process]], redis_server: RedisServer
) -> None:
    (doomed, process), (other, _) = pair
    items = [
        {
            "id": f"i{n}",
            "verifier": "slow",
            "completion": "yes" if n % 3 else "no",
            "reference": {"word": "yes", "n": n},
        }
        for n in range(COUNT)
    ]
    told: dict[str, float | None] = {}
    kills = {COUNT // 6: process.kill, COUNT // 3: redis_server.kill, COUNT // 2: redis_server.start}
    with Client([doomed, other], chunk_items=64) as client:
        for result in client.stream(items, deadline_s=120):
            assert result.id not in told, "an item came twice"
            told[result.id] = result.reward
            if len(told) in kills:
                threading.Thread(target=kills[len(told)]).start()
    assert told == {f"i{n}": float(bool(n % 3)) for n in range(COUNT)}
    with Client(other) as client:
        again = client.score(items)
    assert [result.reward for result in again] == [told[f"i{n}"] for n in range(COUNT)]
