"""Requests, retries and deadlines: a scorer always answers, and says whose fault a null is."""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from assay.client import Client, ConfigurationError, MemoryTransport, RequestRefused, ServiceUnavailable
from assay.contract.envelope import Problem
from assay.contract.result import ErrorInfo
from assay.trainer_adapter.scorer import Scorer
from assay.trainer_adapter.sessions import Target, close_all


class Counting(MemoryTransport):
    """Counts requests."""

    def __init__(self, handler: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(handler)
        self.sizes: list[int] = []

    async def score(self, body: bytes, *, timeout_s: float | None) -> bytes:
        before = len(self.items)
        answer = await super().score(body, timeout_s=timeout_s)
        self.sizes.append(len(self.items) - before)
        return answer


def item(completion: str = "1") -> dict[str, Any]:
    return {"verifier": "memory", "completion": completion, "reference": {}}


def scorer(handler: Callable[[dict[str, Any]], Any], **options: Any) -> tuple[Scorer, Counting]:
    transport = Counting(handler)
    return Scorer(Client(transport=transport, tries=1), **options), transport


def null(*, retryable: bool) -> dict[str, Any]:
    error = ErrorInfo(code="worker_lost" if retryable else "invalid_reference", message="x", retryable=retryable)
    return {"reward": None, "error": error, "reason": error.code}


def test_grades_come_in_the_order_of_the_items() -> None:
    score, transport = scorer(lambda item: float(item["completion"]), request_items=7)
    assert [g.reward for g in score.score([item(str(n)) for n in range(100)])] == list(range(100))
    assert sum(transport.sizes) == 100 and max(transport.sizes) == 7


def test_4096_single_calls_share_a_few_requests() -> None:
    score, transport = scorer(lambda item: float(item["completion"]))

    async def all_of_them() -> list[float | None]:
        return [g.reward for g in await asyncio.gather(*(score.score_one(item(str(n))) for n in range(4096)))]

    assert asyncio.run(all_of_them()) == list(range(4096))
    assert len(transport.sizes) <= 32


def test_a_scorer_works_on_several_event_loops() -> None:
    score, _ = scorer(lambda item: 1.0)
    for _ in range(3):
        assert asyncio.run(score.score_one(item())).reward == 1.0


def test_only_a_retryable_null_is_sent_again() -> None:
    seen: list[str] = []

    def flaky(item: dict[str, Any]) -> Any:
        seen.append(item["completion"])
        return null(retryable=True) if item["completion"] == "b" and seen.count("b") < 3 else 1.0

    score, _ = scorer(flaky)
    assert [g.reward for g in score.score([item("a"), item("b")])] == [1.0, 1.0]
    assert seen == ["a", "b", "b", "b"]


def test_a_rows_fault_is_not_sent_again() -> None:
    score, transport = scorer(lambda item: null(retryable=False))
    (grade,) = score.score([item()])
    assert (grade.reward, grade.fault, len(transport.items)) == (None, "row", 1)


def test_an_outage_ends_at_the_deadline_with_a_grade() -> None:
    def down(item: dict[str, Any]) -> Any:
        raise ServiceUnavailable("gone")

    score, _ = scorer(down, deadline_s=0.5)
    started = time.monotonic()
    (grade,) = score.score([item()])
    assert (grade.reward, grade.fault, grade.reason) == (None, "service", "service_unavailable")
    assert time.monotonic() - started < 5


def test_a_service_that_hangs_ends_at_the_deadline_too() -> None:
    async def hang(item: dict[str, Any]) -> Any:
        await asyncio.sleep(60)

    score, _ = scorer(hang, deadline_s=0.2)
    assert [g.fault for g in score.score([item(), item()])] == ["service", "service"]


def test_a_refusal_stops_the_start_but_not_the_middle_of_a_run() -> None:
    answers: list[Any] = [401, 1.0, 401]

    def handler(item: dict[str, Any]) -> Any:
        said = answers.pop(0) if answers else 401
        if said == 401:
            raise RequestRefused(Problem(type="about:blank", title="Unauthorized", status=401))
        return said

    score, _ = scorer(handler, deadline_s=0.3)
    with pytest.raises(RequestRefused):
        score.score([item()])
    assert score.score([item()])[0].reward == 1.0
    assert score.score([item()])[0].fault == "service"


def test_an_unknown_verifier_stops_the_start() -> None:
    error = ErrorInfo(code="invalid_item", message="no such verifier", retryable=False, field="verifier")
    score, _ = scorer(lambda item: {"reward": None, "error": error, "reason": "invalid_item"})
    with pytest.raises(ConfigurationError, match="no such verifier"):
        score.score([item()])


@pytest.mark.parametrize("single", [True, False])
def test_a_run_stops_at_its_start_if_no_row_can_be_scored(single: bool) -> None:
    score, _ = scorer(lambda item: null(retryable=False))

    async def one_by_one() -> None:
        for _ in range(64):
            await score.score_one(item())

    with pytest.raises(ConfigurationError, match="none of the first 64 rows"):
        asyncio.run(one_by_one()) if single else score.score([item()] * 64)


def test_after_a_verdict_no_number_of_faulty_rows_stops_a_run() -> None:
    score, _ = scorer(lambda item: 1.0 if item["completion"] == "right" else null(retryable=False))
    assert [g.fault for g in score.score([item("right"), *[item()] * 64])] == [None, *["row"] * 64]
    assert {g.fault for g in score.score([item()] * 64)} == {"row"}


def test_a_key_in_the_url_is_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    score = Scorer(Target.of("http://:sesame@127.0.0.1:9", api_key=None, tries=1), deadline_s=0.3)
    (grade,) = score.score([item()])
    assert grade.fault == "service" and "127.0.0.1:9" in caplog.text
    assert "sesame" not in grade.detail + caplog.text


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://127.0.0.1:9", {"deadline": 3}),
        ("http://127.0.0.1:9", {"plugins": {}}),
        ("http://127.0.0.1:99999", {}),
        ("grpc://127.0.0.1:9", {"deadline": 3}),
        ("embedded:", {"deadline": 3}),
    ],
)
def test_an_invalid_option_or_port_is_a_configuration_error(url: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Scorer(Target.of(url, api_key=None, **options), deadline_s=5).score([item()])


def test_a_fault_of_a_batch_reaches_all_its_callers() -> None:
    def refuse(item: dict[str, Any]) -> Any:
        raise RequestRefused(Problem(type="about:blank", title="Unauthorized", status=401))

    score, _ = scorer(refuse)

    async def both() -> list[Any]:
        return await asyncio.gather(score.score_one(item()), score.score_one(item()), return_exceptions=True)

    assert [type(said) for said in asyncio.run(both())] == [RequestRefused, RequestRefused]


def test_a_cancelled_caller_does_not_affect_others() -> None:
    async def slow(item: dict[str, Any]) -> float:
        await asyncio.sleep(0.05)
        return 1.0

    score, _ = scorer(slow)

    async def leave_one() -> float | None:
        leaving, staying = (asyncio.create_task(score.score_one(item())) for _ in range(2))
        await asyncio.sleep(0.02)
        leaving.cancel()
        return (await staying).reward

    assert asyncio.run(leave_one()) == 1.0


def test_there_is_one_client_per_target_and_process() -> None:
    one, other = Target.of("http://127.0.0.1:1", api_key=None), Target.of(["http://127.0.0.1:1"], api_key=None)
    assert isinstance(one, Target) and isinstance(other, Target)
    assert one.client() is other.client()
    assert "secret" not in repr(Target.of("http://x", api_key="secret"))


def test_a_forked_child_scores_with_a_session_of_its_own(served: Any) -> None:
    score = Scorer(Target.of(served.url, api_key=None), deadline_s=60)
    work = {"verifier": "exact", "completion": "4", "reference": {"mode": "string", "gold": "4", "extract": "whole"}}
    assert score.score([work])[0].reward == 1.0
    child = os.fork()
    if child == 0:
        os._exit(int(score.score([work])[0].reward != 1.0))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_closed_sessions_open_anew(served: Any) -> None:
    score = Scorer(Target.of(served.url, api_key=None))
    work = {"verifier": "exact", "completion": "4", "reference": {"mode": "string", "gold": "4", "extract": "whole"}}
    score.score([work])
    close_all()
    assert score.score([work])[0].reward == 1.0
