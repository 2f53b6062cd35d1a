"""Responses: JSON, msgpack, streams, the description of the service."""

import asyncio
import json
import time
from datetime import datetime, timezone
from typing import Any

import httpx
import msgspec
import pytest

from assay.contract.envelope import ScoreResponse, VerifierInfo

from .conftest import JSON, exact, served

pytestmark = pytest.mark.asyncio(loop_scope="module")
MSGPACK = {"content-type": "application/msgpack"}


async def test_an_answer_follows_the_contract(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/score", json={"items": [exact(), exact("5"), exact(verifier="?")]})
    answer = ScoreResponse.model_validate_json(response.content)
    assert [r.outcome.value for r in answer.results] == ["correct", "incorrect", "no_verdict"]
    assert answer.stats is not None and answer.stats.outcomes == {"correct": 1, "incorrect": 1, "no_verdict": 1}


async def test_a_null_reward_is_written(http: httpx.AsyncClient) -> None:
    response = await http.post("/v1/score", json={"items": [exact(verifier="?")]})
    assert '"reward":null' in response.text and '"score":null' in response.text


async def test_msgpack_mirrors_json(http: httpx.AsyncClient) -> None:
    row = exact() | {"reference": json.dumps(exact()["reference"]).encode()}
    messages = row | {"completion": json.dumps([{"role": "assistant", "content": "4"}]).encode()}
    body = msgspec.msgpack.encode({"items": [row, messages, row | {"completion": "5"}, row | {"completion": 7}]})
    response = await http.post("/v1/score", content=body, headers=MSGPACK)
    results = msgspec.msgpack.decode(response.content)["results"]
    assert [r["reward"] for r in results] == [1, 1, 0, None]
    assert results[3]["error"]["field"] == "completion"


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x81\xa5items", b"\xff" * 100])
async def test_broken_msgpack_is_a_problem(http: httpx.AsyncClient, body: bytes) -> None:
    response = await http.post("/v1/score", content=body, headers=MSGPACK)
    assert response.status_code in (400, 422) and "type" in response.json()


@pytest.mark.parametrize(
    "value",
    [msgspec.msgpack.Ext(5, b"x"), datetime.now(timezone.utc), {"gold": b"4"}, {1: 2}, [float("inf")], "x" * 2_000_000],
)
@pytest.mark.parametrize("field", ["reference", "prompt"])
async def test_a_msgpack_value_without_a_json_form_is_its_items_fault(
    http: httpx.AsyncClient, field: str, value: Any
) -> None:
    item = exact(**{field: {**exact()["reference"], **value} if isinstance(value, dict) else [value]})
    response = await http.post("/v1/score", content=msgspec.msgpack.encode({"items": [item, exact()]}), headers=MSGPACK)
    bad, good = msgspec.msgpack.decode(response.content)["results"]
    assert (bad["reward"], bad["error"]["code"], good["reward"]) == (None, "invalid_item", 1)


@pytest.mark.parametrize("twice", ["completion", "id"])
async def test_a_duplicate_key_in_msgpack_is_a_problem(http: httpx.AsyncClient, twice: str) -> None:
    fields = [*exact(id="a").items(), (twice, "5")]
    item = bytes([0x80 | len(fields)]) + b"".join(msgspec.msgpack.encode(part) for field in fields for part in field)
    response = await http.post("/v1/score", content=b"\x81\xa5items\x91" + item, headers=MSGPACK)
    assert (response.status_code, response.json()["type"]) == (400, "urn:assay:problem:duplicate_key")


async def test_an_id_that_is_not_text_is_a_problem(http: httpx.AsyncClient) -> None:
    body = msgspec.msgpack.encode({"items": [exact(id="ab")]}).replace(b"ab", b"\xff\xfe")
    response = await http.post("/v1/score", content=body, headers=MSGPACK)
    assert (response.status_code, response.json()["type"]) == (400, "urn:assay:problem:invalid_utf8")


async def test_a_list_of_millions_of_items_is_refused_by_its_length(http: httpx.AsyncClient) -> None:
    body = b"\x81\xa5items\xdd" + (1 << 25).to_bytes(4) + b"\x80" * (1 << 25)
    started = time.monotonic()
    response = await http.post("/v1/score", content=body, headers=MSGPACK)
    assert (response.status_code, response.json()["limit"]) == (413, 4096) and time.monotonic() - started < 3


async def test_a_stream_ends_with_its_count(http: httpx.AsyncClient) -> None:
    rows = [exact(id=f"{n}", group=f"g{n // 4}") for n in range(16)]
    response = await http.post("/v1/score/stream", json={"items": rows})
    *lines, last = map(json.loads, response.text.splitlines())
    assert last == {"done": True, "count": 16}
    groups = [[int(line["id"]) for line in lines[n : n + 4]] for n in range(0, 16, 4)]
    assert sorted(groups) == [list(range(n, n + 4)) for n in range(0, 16, 4)]


async def test_every_verifier_has_a_schema(http: httpx.AsyncClient) -> None:
    infos = [VerifierInfo.model_validate(v) for v in (await http.get("/v1/verifiers")).json()["verifiers"]]
    assert {"exact", "given"} <= {info.name for info in infos}
    assert all(info.reference["type"] == "object" and info.version >= 1 for info in infos)


async def test_the_service_describes_itself(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    assert {"/v1/score", "/v1/score/stream", "/v1/references/{sha256}", "/v1/verifiers"} <= set(document["paths"])
    assert "ScoreRequest" in document["components"]["schemas"]
    assert (await http.get("/docs")).status_code == 200
    assert (await http.get("/readyz")).json()["status"] == "ready"


async def test_metrics_name_no_run(http: httpx.AsyncClient) -> None:
    await http.post("/v1/score", json={"items": [exact(run="secret-run", group="secret-group")]})
    text = (await http.get("/metrics")).text
    assert 'assay_results_total{error="",outcome="correct",verifier="exact@1"}' in text and "secret" not in text


async def test_200_clients_against_a_small_queue_get_200_or_429() -> None:
    rows = [exact(str(n % 2 + 4), id=str(n)) for n in range(32)]
    async with served(limits={"queue_items": 64}, cache_mb=0) as (_, http):

        async def one(client: int) -> httpx.Response:
            body = json.dumps({"items": [row | {"prefill": f"{client}"} for row in rows]})
            return await http.post("/v1/score", content=body, headers=JSON)

        responses = await asyncio.gather(*map(one, range(200)))
    assert {r.status_code for r in responses} <= {200, 429}
    good = [r.json()["results"] for r in responses if r.status_code == 200]
    refused = [r for r in responses if r.status_code == 429]
    assert good and refused
    assert all([r["reward"] for r in results] == [1, 0] * 16 for results in good)
    assert all(int(r.headers["retry-after"]) >= 1 and r.json()["queue_depth"] > 0 for r in refused)
