"""The client against a real HTTP service: order, fail-over, patience, refusals, references."""

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from assay.client import (
    AsyncClient,
    Client,
    DeadlineExceeded,
    Overloaded,
    ProtocolError,
    RequestRefused,
    ServiceUnavailable,
)

from ._service import Running, null

REFERENCE = {"mode": "number", "gold": "7", "extract": "hash4"}


def item(text: str = "#### 7", **more: Any) -> dict[str, Any]:
    return {"verifier": "exact", "completion": text, "reference": REFERENCE, **more}


def rewards(client: Client, items: list[dict[str, Any]], **more: Any) -> list[float | None]:
    return [result.reward for result in client.score(items, **more)]


def unused_url() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_results_come_in_the_order_of_the_items(service: Running) -> None:
    items = [item(f"#### {n % 9}", group=f"g{n % 7}") for n in range(1000)]
    with Client(service.url, chunk_items=50) as client:
        assert rewards(client, items) == [float(n % 9 == 7) for n in range(1000)]
    assert len(service.service.requests) > 10


def test_a_group_is_sent_together(service: Running) -> None:
    items = [item(group=f"g{n % 30}") for n in range(240)]
    with Client(service.url, chunk_items=50) as client:
        client.score(items)
    for request in service.service.requests:
        groups = [sent["group"] for sent in request["items"]]
        assert all(groups.count(group) == 8 for group in groups)


def test_concurrent_requests_are_limited(service: Running) -> None:
    service.service.delay_s = 0.02
    with Client(service.url, chunk_items=1, max_in_flight=3) as client:
        client.score([item() for _ in range(12)])
    assert service.service.most == 3


def test_the_key_is_sent_as_a_bearer_token(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client(service.url, api_key="one") as client:
        client.score_one(item())
    monkeypatch.setenv("ASSAY_API_KEY", "two")
    with Client(service.url) as client:
        client.score_one(item())
    assert [headers["authorization"] for headers in service.service.headers] == ["Bearer one", "Bearer two"]


def test_a_dead_url_is_left_for_a_live_one(service: Running) -> None:
    with Client([unused_url(), service.url], chunk_items=1) as client:
        assert rewards(client, [item() for _ in range(20)]) == [1.0] * 20


def test_a_service_that_dies_in_the_middle_is_left_for_the_other(start: Callable[..., Running]) -> None:
    first, second = start(), start()
    first.service.delay_s = second.service.delay_s = 0.01
    with Client([first.url, second.url], chunk_items=2, max_in_flight=4) as client:
        results = client.stream([item() for _ in range(200)])
        seen = [next(results)]
        first.stop()
        seen += results
    assert len({result.id for result in seen}) == len(seen) == 200
    assert first.service.requests and second.service.requests


def test_an_unreachable_service_is_an_error_not_a_reward() -> None:
    with Client(unused_url(), tries=2) as client, pytest.raises(ServiceUnavailable):
        client.score_one(item())


@pytest.mark.parametrize("fault", [500, 502, 503, 504, "cut"])
def test_a_transient_fault_is_retried(service: Running, fault: Any) -> None:
    service.service.script.append(fault)
    with Client(service.url) as client:
        assert rewards(client, [item(), item("#### 8")]) == [1.0, 0.0]


def test_retry_after_is_honoured(service: Running) -> None:
    problem = {"type": "urn:assay:problem:overloaded", "title": "busy", "status": 429, "queue_depth": 12}
    service.service.script.append((429, {"retry_after": "1"}, problem))
    start = time.monotonic()
    with Client(service.url) as client:
        assert rewards(client, [item()]) == [1.0]
    assert time.monotonic() - start >= 1


def test_many_429_responses_lose_no_item(service: Running) -> None:
    busy = (429, {"retry_after": "0"}, {"type": "x", "title": "busy", "status": 429})
    service.service.script.extend([busy] * 60)
    with Client(service.url, chunk_items=2) as client:
        assert rewards(client, [item() for _ in range(64)]) == [1.0] * 64


def test_overload_beyond_the_deadline_is_raised(service: Running) -> None:
    service.service.script.extend([(429, {"retry_after": "60"}, {"type": "x", "title": "busy", "status": 429})] * 9)
    with Client(service.url) as client, pytest.raises(DeadlineExceeded):
        client.score([item()], deadline_s=0.5)


def test_overload_reports_the_queue_depth(service: Running) -> None:
    problem = {"type": "x", "title": "busy", "status": 429, "queue_depth": 12, "retry_after_s": 0.0}
    service.service.script.extend([(429, {}, problem)] * 500)
    with Client(service.url) as client, pytest.raises(Overloaded) as fault:
        client.score([item()])
    assert fault.value.queue_depth == 12


def test_the_deadline_is_sent_and_enforced(service: Running) -> None:
    with Client(service.url) as client:
        client.score([item()])  # the connection is there: what follows is the deadline's time alone
        service.service.delay_s = 5
        start = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            client.score([item()], deadline_s=0.3)
    assert time.monotonic() - start < 4
    assert 0 < service.service.requests[-1]["deadline_s"] <= 0.3


def test_a_refusal_is_not_retried_and_names_the_field(service: Running) -> None:
    problem = {"type": "urn:assay:problem:x", "title": "no", "status": 403, "detail": "bad", "field": "Origin"}
    service.service.script.append((403, {}, problem))
    with Client(service.url) as client, pytest.raises(RequestRefused) as fault:
        client.score([item()])
    assert fault.value.problem.field == "Origin" and len(service.service.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"{}",
        b'{"results":[]}',
        b'{"results":[{"id":"1","reward":1}]}',
        b'{"results":[1]}',
        b'{"results":[{"id":"0","reward":1},{"id":"0","reward":1}]}',
        b'{"results":[{"id":"0","reward":1}',
    ],
)
def test_an_answer_that_breaks_the_contract_is_a_protocol_error(service: Running, body: bytes) -> None:
    service.service.script.append(body)
    with Client(service.url) as client, pytest.raises(ProtocolError):
        client.score([item()])


def test_a_stream_yields_every_item_once(service: Running) -> None:
    service.service.script.extend(["cut", 503])
    with Client(service.url, chunk_items=7) as client:
        results = list(client.stream([item(f"#### {n}") for n in range(50)]))
    assert sorted(int(result.id) for result in results) == list(range(50))
    assert {result.id for result in results if result.reward == 1} == {"7"}


def test_a_cut_stream_is_resumed_for_missing_items_only(service: Running) -> None:
    line = b'{"id":"1","reward":1,"score":1,"outcome":"correct","reason":"equal","verifier":"x"}\n'
    service.service.script.append(line)
    with Client(service.url) as client:
        assert sorted(result.id for result in client.stream([item(), item()])) == ["0", "1"]
    assert [sent["id"] for sent in service.service.requests[1]["items"]] == ["0"]


def test_a_large_shared_reference_is_uploaded_once(service: Running) -> None:
    large = {**REFERENCE, "gold": "7." + "0" * 5000}
    items = [item(reference=large) for _ in range(30)] + [item()]
    with Client(service.url, chunk_items=8) as client:
        assert rewards(client, items) == [1.0] * 31
        assert service.service.uploads == 1
        service.service.references.clear()
        assert rewards(client, items[:8]) == [1.0] * 8
    assert service.service.uploads == 2


def test_a_reference_that_is_repeatedly_lost_is_sent_inline(service: Running) -> None:
    large = {**REFERENCE, "gold": "7." + "0" * 5000}
    service.service.script.extend([lambda sent: null(sent, "unknown_reference")] * 2)
    with Client(service.url) as client:
        assert rewards(client, [item(reference=large)] * 2) == [1.0, 1.0]
    assert "gold" in service.service.requests[-1]["items"][0]["reference"]


def test_sharing_references_can_be_disabled(service: Running) -> None:
    large = {**REFERENCE, "gold": "7." + "0" * 5000}
    with Client(service.url, share_references=False) as client:
        assert rewards(client, [item(reference=large)] * 2) == [1.0, 1.0]
    assert service.service.uploads == 0


def test_a_unix_socket_url_works(service: Running, tmp_path: Any) -> None:
    import threading

    import uvicorn

    path = str(tmp_path / "s")
    server = uvicorn.Server(uvicorn.Config(service.service, uds=path, log_level="critical", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with Client(f"unix:{path}") as client:
        assert rewards(client, [item()]) == [1.0]
    server.should_exit = True
    thread.join()


def test_verifiers_are_listed(service: Running) -> None:
    with Client(service.url) as client:
        assert [(info.name, info.version) for info in client.verifiers()] == [("exact", 1)]


async def test_the_asynchronous_client(service: Running) -> None:
    async with AsyncClient(service.url) as client:
        assert [result.reward for result in await client.score([item(), item("")])] == [1.0, 0.0]
        assert (await client.score_one(item(id="x"))).id == "x"
        assert {result.id async for result in client.stream([item(), item()])} == {"0", "1"}
        assert await client.get("/v1/verifiers")
