"""Shadow mode: the other version's verdicts are compared and never returned, and no caller waits for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
import pytest_asyncio
from fastapi import FastAPI

from assay.service.shadow import IN_FLIGHT, MARK, Shadow, ShadowSettings

from .conftest import JSON, exact, served

OTHER: dict[str, Any] = {"status": 200, "hang": False, "seen": 0, "marks": []}


async def other_version(request: httpx.Request) -> httpx.Response:
    """A service that gives 1 for the completion `5`, and 0 otherwise."""
    OTHER["seen"] += 1
    OTHER["marks"].append(request.headers.get(MARK))
    while OTHER["hang"]:
        await asyncio.sleep(0.01)
    packed = request.headers["content-type"] != "application/json"
    items = (msgspec.msgpack if packed else msgspec.json).decode(request.content)["items"]
    results = []
    for index, item in enumerate(items):
        right = item["completion"] == "5"
        results.append(
            {
                "id": item.get("id", str(index)),
                "reward": float(right),
                "score": float(right),
                "verifier": "exact@2",
                "outcome": "correct" if right else "incorrect",
                "reason": "equal" if right else "unequal",
            }
        )
    body = {"results": results, "stats": {"items": len(items)}}
    encode = msgspec.msgpack.encode if packed else msgspec.json.encode
    return httpx.Response(OTHER["status"], content=encode(body))


@pytest_asyncio.fixture
async def shadowed() -> AsyncIterator[tuple[FastAPI, httpx.AsyncClient]]:
    OTHER.update(status=200, hang=False, seen=0, marks=[])
    keys = ("one-key-of-some-length", "another-key-of-length")
    async with served(shadow=ShadowSettings(url="http://other"), keys=keys) as (app, client):
        app.state.shadow._http = httpx.AsyncClient(
            transport=httpx.MockTransport(other_version), base_url="http://other", timeout=5
        )
        client.headers["authorization"] = f"Bearer {keys[0]}"
        yield app, client


async def post(client: httpx.AsyncClient, *completions: str) -> list[float]:
    items = [exact(text) for text in completions]
    answer = await client.post("/v1/score", content=json.dumps({"items": items}), headers=JSON)
    assert answer.status_code == 200
    return [result["reward"] for result in answer.json()["results"]]


async def report(app: FastAPI, client: httpx.AsyncClient, **headers: str) -> dict[str, Any]:
    await app.state.shadow.drained()
    return dict((await client.get("/v1/shadow", headers=headers)).json())


async def test_own_verdicts_are_returned_and_differences_counted(shadowed: tuple[FastAPI, httpx.AsyncClient]) -> None:
    app, client = shadowed
    assert await post(client, "4", "5", "6") == [1.0, 0.0, 0.0]
    found = await report(app, client)
    changes = {entry["change"]: entry["count"] for entry in found["results"]}
    assert changes == {"correct>incorrect": 1, "incorrect>correct": 1, "same": 1}
    assert {example["id"] for example in found["examples"]} == {"0", "1"}
    assert found["examples"][0]["theirs"]["verifier"] == "exact@2"
    metrics = (await client.get("/metrics")).text
    assert 'assay_shadow_results_total{change="correct>incorrect",verifier="exact@1"} 1.0' in metrics


async def test_msgpack_is_compared_too(shadowed: tuple[FastAPI, httpx.AsyncClient]) -> None:
    app, client = shadowed
    item = exact("5")
    item["reference"] = json.dumps(item["reference"]).encode()
    body = msgspec.msgpack.encode({"items": [item]})
    await client.post("/v1/score", content=body, headers={"content-type": "application/msgpack"})
    found = await report(app, client)
    assert [entry["change"] for entry in found["results"]] == ["incorrect>correct"]


async def test_each_caller_sees_its_own_examples(shadowed: tuple[FastAPI, httpx.AsyncClient]) -> None:
    app, client = shadowed
    await post(client, "5")
    other = await report(app, client, authorization="Bearer another-key-of-length")
    assert other["examples"] == [] and len((await report(app, client))["examples"]) == 1


@pytest.mark.parametrize("status", [429, 500])
async def test_a_failing_shadow_is_counted_and_affects_no_caller(
    shadowed: tuple[FastAPI, httpx.AsyncClient], status: int
) -> None:
    app, client = shadowed
    OTHER["status"] = status
    assert await post(client, "4") == [1.0]
    assert (await report(app, client))["requests"] == {"failed": 1}


async def test_a_slow_shadow_delays_no_caller(shadowed: tuple[FastAPI, httpx.AsyncClient]) -> None:
    app, client = shadowed
    OTHER["hang"] = True
    for n in range(IN_FLIGHT + 3):
        assert await asyncio.wait_for(post(client, str(n)), 20) == [float(n == 4)]
    assert app.state.shadow.requests["let_go"] == 3
    OTHER["hang"] = False
    assert (await report(app, client))["requests"]["compared"] == IN_FLIGHT


async def test_examples_are_bounded() -> None:
    shadow = Shadow(ShadowSettings(url="http://other", examples=5), transport=httpx.MockTransport(other_version))
    answer = {
        "results": [
            {"id": str(n), "reward": 1.0, "score": 1.0, "outcome": "correct", "reason": "equal", "verifier": "exact@1"}
            for n in range(50)
        ]
    }
    body = {"items": [exact("4", id=str(n)) for n in range(50)]}
    shadow.offer(json.dumps(body).encode(), json.dumps(answer).encode(), kind="application/json", owner="me")
    await shadow.drained()
    assert [example["id"] for example in shadow.report("me")["examples"]] == ["49", "48", "47", "46", "45"]
    await shadow.close()


async def test_a_share_of_the_requests_is_sent(shadowed: tuple[FastAPI, httpx.AsyncClient]) -> None:
    app, client = shadowed
    app.state.shadow._settings = ShadowSettings(url="http://other", share=1e-9)
    await post(client, "4")
    assert (await report(app, client))["requests"] == {} and OTHER["seen"] == 0


async def test_forwarded_requests_are_not_forwarded_again(shadowed: tuple[FastAPI, httpx.AsyncClient]) -> None:
    """Otherwise two services that shadow each other would never stop."""
    app, client = shadowed
    body = json.dumps({"items": [exact("4")]})
    await client.post("/v1/score", content=body, headers={**JSON, MARK: "1"})
    assert (await report(app, client))["requests"] == {}
    await post(client, "4")
    await report(app, client)
    assert OTHER["marks"] == ["1"]
