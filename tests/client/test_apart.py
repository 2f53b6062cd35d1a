"""One item that the service refuses: its neighbours are scored, and its completion is not excused."""

import json
from typing import Any

import pytest

from assay.client import AsyncClient, RequestRefused
from assay.service.embedded import EmbeddedTransport

GOLD = {"mode": "string", "gold": "4", "extract": "whole"}


def item(completion: Any = "4", **fields: Any) -> dict[str, Any]:
    return {"verifier": "exact", "completion": completion, "reference": GOLD} | fields


def deep(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


def calling(arguments: Any) -> list[dict[str, Any]]:
    call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
    return [{"role": "assistant", "content": "4", "tool_calls": [call]}]


GUILTY = {
    "deep arguments": calling({"a": deep(300)}),
    "a long integer": calling({"a": 10**4290}),
    "five megabytes": "4" * 5_000_000,
}


@pytest.mark.parametrize("kind", GUILTY)
async def test_a_completion_that_is_refused_gets_0_and_nobody_else_pays(kind: str) -> None:
    rows = [item(prefill=str(n)) for n in range(12)]
    rows[5] = item(GUILTY[kind])
    async with AsyncClient("embedded:", lanes=1) as client:
        results = await client.score(rows)
        streamed = {r.id: r.reward async for r in client.stream(rows)}
    rewards = [r.reward for r in results]
    assert rewards[:5] + rewards[6:] == [1.0] * 11
    assert rewards[5] in (0.0, 1.0) and results[5].reason in ("resource_limit", "equal")
    assert streamed == {str(n): reward for n, reward in enumerate(rewards)}


async def test_a_reference_that_is_refused_is_no_verdict_of_that_row() -> None:
    rows = [item(), item(reference=GOLD | {"aliases": deep(300)}), item("5")]
    async with AsyncClient("embedded:", lanes=1) as client:
        results = await client.score(rows)
    assert [r.reward for r in results] == [1, None, 0]
    assert results[1].error is not None and not results[1].error.retryable


async def test_what_concerns_all_items_is_raised() -> None:
    async with AsyncClient("embedded:", lanes=1) as client:
        with pytest.raises(RequestRefused):
            await client.score([item(), item()], defaults={"verifyer": "exact"})


async def test_no_items_no_results() -> None:
    async with AsyncClient("embedded:", lanes=1) as client:
        assert await client.score([]) == []


async def test_the_embedded_engine_takes_a_key_and_ignores_it() -> None:
    transport = EmbeddedTransport("embedded:", api_key="any")
    await transport.aclose()
