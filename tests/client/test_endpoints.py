"""The choice of the next URL, and the probing of backed-off ones."""

import asyncio
import time

import pytest

from assay.client import MemoryTransport, Overloaded, ServiceUnavailable
from assay.client.deadline import Deadline
from assay.client.endpoints import LONGEST_BACKOFF_S, Endpoint, Endpoints
from assay.client.errors import DeadlineExceeded


def endpoints(count: int = 1) -> Endpoints:
    return Endpoints([MemoryTransport(lambda item: 1.0) for _ in range(count)])


def ready(all_: Endpoints, seconds: float | None) -> Endpoint:
    return asyncio.run(all_.ready(Deadline(seconds)))


def test_concurrent_failures_count_once() -> None:
    (one,) = endpoints().all
    for _ in range(8):
        one.failed(ServiceUnavailable("gone"))
    assert one.available_at - time.monotonic() <= 0.5


def test_repeated_failures_increase_the_back_off() -> None:
    (one,), rests = endpoints().all, []
    for _ in range(12):
        one.available_at = 0.0
        one.failed(ServiceUnavailable("gone"))
        rests.append(round(one.available_at - time.monotonic()))
    assert rests == sorted(rests) and rests[-1] == LONGEST_BACKOFF_S


@pytest.mark.parametrize("seconds", [0.2, 0.8, 2.0])
def test_a_backed_off_url_is_probed_before_the_deadline(seconds: float) -> None:
    all_ = endpoints()
    all_.all[0].available_at = time.monotonic() + 30
    started = time.monotonic()
    assert ready(all_, seconds) is all_.all[0]
    assert time.monotonic() - started < seconds


def test_retry_after_is_waited_for() -> None:
    all_ = endpoints()
    all_.all[0].failed(Overloaded("busy", retry_after_s=30.0))
    with pytest.raises(DeadlineExceeded):
        ready(all_, 0.5)


def test_a_working_url_is_preferred_to_a_backed_off_one() -> None:
    all_ = endpoints(2)
    all_.all[0].failed(ServiceUnavailable("gone"))
    assert ready(all_, 5.0) is all_.all[1]
