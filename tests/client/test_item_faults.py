"""Oversized items: their neighbours are scored, and a large completion gets a reward of 0."""

import json
from typing import Any

import pytest

from assay.client import AsyncClient, MemoryTransport, RequestRefused
from assay.contract.envelope import Problem
from assay.service.embedded import EmbeddedTransport

GOLD = {"mode": "string", "gold": "4", "extract": "whole"}


def item(completion: Any = "4", **fields: Any) -> dict[str, Any]:
    return {"verifier": "exact", "completion": completion, "reference": GOLD} | fields


def deep(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


def calling(arguments: Any) -> list[dict[str, Any]]:
    call = {"type": "function", "function": {"name": "f", "arguments": arguments}}
    return [{"role": "assistant", "content": "4", "tool_calls": [call]}]


class RefusesLarge(MemoryTransport):
    """A service that accepts bodies of at most 2 kB."""

    def __init__(self) -> None:
        super().__init__(lambda _: 1.0)

    async def score(self, body: bytes, *, timeout_s: float | None) -> bytes:
        if len(body) > 2000:
            large = Problem(type="urn:assay:problem:too_large", title="Too large", status=413, field="body", limit=2000)
            raise RequestRefused(large)
        return await super().score(body, timeout_s=timeout_s)


EXCESSIVE = {
    "deep arguments": calling({"a": deep(300)}),
    "a long integer": calling({"a": 10**4290}),
    "five megabytes": "4" * 5_000_000,
}


@pytest.mark.parametrize("kind", EXCESSIVE)
async def test_a_completion_that_is_too_large_or_deep_gets_0_and_its_neighbours_are_scored(kind: str) -> None:
    rows = [item(prefill=str(n)) for n in range(12)]
    rows[5] = item(EXCESSIVE[kind])
    async with AsyncClient("embedded:", lanes=1) as client:
        results = await client.score(rows)
        streamed = {r.id: r.reward async for r in client.stream(rows)}
    rewards = [r.reward for r in results]
    assert rewards[:5] + rewards[6:] == [1.0] * 11
    assert (rewards[5], results[5].reason) in [(0.0, "too_large"), (1.0, "equal")]
    assert streamed == {str(n): reward for n, reward in enumerate(rewards)}


async def test_a_reference_that_is_too_deep_gives_no_verdict_for_its_row_alone() -> None:
    rows = [item(), item(reference=GOLD | {"aliases": deep(300)}), item("5")]
    async with AsyncClient("embedded:", lanes=1) as client:
        results = await client.score(rows)
    assert [r.reward for r in results] == [1, None, 0]
    assert results[1].error is not None and not results[1].error.retryable


async def test_an_oversized_item_is_settled_by_its_large_part() -> None:
    transport = RefusesLarge()
    async with AsyncClient(transport=transport, max_bytes=1000) as client:
        rows = [item(), item("4" * 5000), item(prompt="4" * 5000)]
        results = await client.score(rows)
    assert [r.reward for r in results] == [1.0, 0.0, None]
    assert [r.reason for r in results] == ["equal", "too_large", "invalid_item"]


async def test_a_refusal_of_the_whole_request_is_raised() -> None:
    async with AsyncClient("embedded:", lanes=1) as client:
        with pytest.raises(RequestRefused):
            await client.score([item(), item()], defaults={"verifyer": "exact"})


async def test_an_empty_batch_has_no_results() -> None:
    async with AsyncClient("embedded:", lanes=1) as client:
        assert await client.score([]) == []


async def test_the_embedded_engine_takes_a_key_and_ignores_it() -> None:
    transport = EmbeddedTransport("embedded:", api_key="any")
    await transport.aclose()
