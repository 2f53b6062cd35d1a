"""Behaviour of the client that does not depend on the transport."""

import asyncio
import json
import os
import threading
from typing import Any

import pytest

import assay.client
from assay.client import (
    AsyncClient,
    Client,
    ConfigurationError,
    Item,
    MemoryTransport,
    Overloaded,
    RequestRefused,
    ServiceUnavailable,
)
from assay.client.core import Chunk
from assay.client.deadline import Deadline
from assay.client.items import encode_items


def right(item: dict[str, Any]) -> float:
    return 1.0


def bodies(items: list[Any]) -> list[bytes]:
    return [item.body() for item in encode_items(items)]


def test_the_public_surface_matches_all() -> None:
    public = {name for name in vars(assay.client) if not name.startswith("_") and name[0].isupper()}
    assert public == set(assay.client.__all__) == set(sorted(assay.client.__all__))


def test_an_id_with_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(RequestRefused, match=r"items\[1\].id"):
        encode_items([{"id": "a"}, {"id": "\ud800"}])


def test_ids_are_set_before_chunking() -> None:
    memory = MemoryTransport(right)
    with Client(transport=memory, chunk_items=2, max_in_flight=1) as client:
        results = client.score([{"id": "a"}, {}, {}, {}, {"id": None}])
    assert [result.id for result in results] == ["a", "1", "2", "3", "4"]
    assert [item["id"] for item in memory.items] == ["a", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    "items",
    [[{"id": "a"}, {"id": "a"}], [{"id": "1"}, {}], [{"id": 5}], [3], [{"x": {1, 2}}], [{"x": float("nan")}]],
)
def test_invalid_items_are_refused_before_sending(items: list[Any]) -> None:
    memory = MemoryTransport(right)
    with Client(transport=memory) as client, pytest.raises(RequestRefused):
        client.score(items)
    assert memory.items == []


def test_a_refusal_never_echoes_the_completion() -> None:
    with pytest.raises(RequestRefused) as fault:
        encode_items([{"completion": "CANARY", "x": object()}])
    assert "CANARY" not in str(fault.value) + repr(fault.value.problem)


def test_integers_of_any_size_stay_exact() -> None:
    reference = {"gold": 2**84, "x": [10**40, 0.1]}
    assert json.loads(bodies([{"reference": reference}])[0])["reference"] == reference


def test_a_lone_surrogate_is_sent_as_its_escape() -> None:
    body = bodies([{"completion": "a\ud800é"}])[0]
    assert b"\\ud800" in body and json.loads(body)["completion"] == "a\ud800é"


def test_only_set_fields_of_a_model_are_sent() -> None:
    fields = {"verifier": "exact", "completion": "x", "step": 3, "reference": {"mode": "string"}}
    assert json.loads(bodies([Item(**fields)])[0]) == {"id": "0", **fields}


def test_a_shared_reference_is_encoded_once() -> None:
    reference = {"gold": "x"}
    first, second = encode_items([{"reference": reference}, {"reference": reference}])
    assert first.reference is second.reference


def test_defaults_are_sent_once_and_the_items_fields_win() -> None:
    memory = MemoryTransport(right)
    with Client(transport=memory) as client:
        client.score([{"verifier": "exact"}, {}], defaults={"verifier": "math", "run": "r"})
    assert [(item["verifier"], item["run"]) for item in memory.items] == [("exact", "r"), ("math", "r")]


def test_no_verdict_is_none_and_never_zero() -> None:
    with Client(transport=MemoryTransport(lambda item: None)) as client:
        result = client.score_one({})
    assert result.reward is None and result.outcome == "no_verdict" and result.error is not None


def test_memory_transport_can_simulate_faults() -> None:
    calls = []

    async def flaky(item: dict[str, Any]) -> float:
        calls.append(item)
        if len(calls) < 3:
            raise Overloaded("busy", retry_after_s=0.0)
        return 0.5

    with Client(transport=MemoryTransport(flaky)) as client:
        assert client.score_one({}).reward == 0.5


def test_the_first_fault_ends_the_others() -> None:
    def broken(item: dict[str, Any]) -> float:
        raise ServiceUnavailable("gone")

    client = Client(transport=MemoryTransport(broken), tries=1, chunk_items=1)
    with client, pytest.raises(ServiceUnavailable):
        client.score([{} for _ in range(50)])


def test_leaving_a_stream_early_cancels_its_requests() -> None:
    with Client(transport=MemoryTransport(right), chunk_items=1) as client:
        stream = client.stream([{} for _ in range(5000)])
        assert next(stream).reward == 1.0
        stream.close()
        assert client.score_one({}).reward == 1.0


def test_many_threads_share_a_client() -> None:
    results: list[float | None] = []
    with Client(transport=MemoryTransport(right)) as client:
        work = [threading.Thread(target=lambda: results.append(client.score_one({}).reward)) for _ in "x" * 20]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    assert results == [1.0] * 20


def test_a_closed_client_opens_again() -> None:
    client = Client(transport=MemoryTransport(right))
    client.score_one({})
    client.close()
    client.close()
    assert client.score_one({}).reward == 1.0
    client.close()


def test_one_asynchronous_client_serves_several_loops() -> None:
    client = AsyncClient(transport=MemoryTransport(right))
    for _ in range(2):
        assert asyncio.run(client.score_one({})).reward == 1.0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_a_loop_of_its_own() -> None:
    with Client(transport=MemoryTransport(right)) as client:
        client.score_one({})
        child = os.fork()
        if child == 0:
            os._exit(0 if client.score_one({}).reward == 1.0 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_unknown_scheme_says_what_is_missing() -> None:
    with Client("gopher://x") as client, pytest.raises(ConfigurationError, match="gopher"):
        client.score_one({})


@pytest.mark.parametrize("options", [{"max_in_flight": 0}, {"url": []}, {"chunk_items": 0}, {"tries": 0}])
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Client(**options)


def test_the_body_follows_the_contract() -> None:
    items = encode_items([{"completion": "x", "reference": {"a": 1}}])
    chunk = Chunk(items=items, deadline=Deadline(9), defaults=b'{"run":"r"}')
    body = json.loads(chunk.body(by_digest=frozenset()))
    assert body["defaults"] == {"run": "r"} and 8 < body["deadline_s"] <= 9
    assert body["items"] == [{"id": "0", "completion": "x", "reference": {"a": 1}}]
