"""Which URL is asked next, and when one that rests is asked all the same."""

import asyncio
import time

import pytest

from assay.client import MemoryTransport, Overloaded, ServiceUnavailable
from assay.client.deadline import Deadline
from assay.client.endpoints import LONGEST_REST_S, Endpoint, Endpoints
from assay.client.errors import DeadlineExceeded


def endpoints(count: int = 1) -> Endpoints:
    return Endpoints([MemoryTransport(lambda item: 1.0) for _ in range(count)])


def ready(all_: Endpoints, seconds: float | None) -> Endpoint:
    return asyncio.run(all_.ready(Deadline(seconds)))


def test_requests_that_fail_together_are_one_failure() -> None:
    (one,) = endpoints().all
    for _ in range(8):
        one.failed(ServiceUnavailable("gone"))
    assert one.awake_at - time.monotonic() <= 0.5


def test_failures_one_after_another_rest_longer_each_time() -> None:
    (one,), rests = endpoints().all, []
    for _ in range(12):
        one.awake_at = 0.0
        one.failed(ServiceUnavailable("gone"))
        rests.append(round(one.awake_at - time.monotonic()))
    assert rests == sorted(rests) and rests[-1] == LONGEST_REST_S


@pytest.mark.parametrize("seconds", [0.2, 0.8, 2.0])
def test_no_deadline_passes_without_asking(seconds: float) -> None:
    all_ = endpoints()
    all_.all[0].awake_at = time.monotonic() + 30
    started = time.monotonic()
    assert ready(all_, seconds) is all_.all[0]
    assert time.monotonic() - started < seconds


def test_what_a_service_asked_for_is_waited_for() -> None:
    all_ = endpoints()
    all_.all[0].failed(Overloaded("busy", retry_after_s=30.0))
    with pytest.raises(DeadlineExceeded):
        ready(all_, 0.5)


def test_a_url_that_works_is_taken_before_one_that_rests() -> None:
    all_ = endpoints(2)
    all_.all[0].failed(ServiceUnavailable("gone"))
    assert ready(all_, 5.0) is all_.all[1]
