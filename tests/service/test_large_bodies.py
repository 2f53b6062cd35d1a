"""Large bodies are read outside the front: with the same verdicts, and no body stops the loop."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import httpx
import msgspec
import pytest

from assay.client.grpc_transport import to_request
from assay.service.engine.intake.validate import Intake
from assay.service.offload import readers as offloading
from assay.service.offload.orders import Encoding
from assay.service.rpc.requests import batch_of

from .http.conftest import JSON, exact, served

BIG = 24_000_000
LIMIT_S = 2.0
"""Ten times what the service promises."""


def body(*items: bytes) -> bytes:
    return b'{"items": [%s]}' % b", ".join(items)


def item(completion: bytes = b"4", more: bytes = b"") -> bytes:
    start = (
        b'{"verifier": "exact", "completion": "%s", "reference": {"mode": "string", "gold": "4", "extract": "whole"}'
    )
    return start % completion + more + b"}"


HOSTILE: dict[str, Callable[[], bytes]] = {
    "surrogates": lambda: body(*[item(rb"\ud800" * 500_000)] * (BIG // 3_000_000)),
    "small numbers": lambda: body(*[item(more=b', "final_state": [%s1]' % (b"1," * 7000))] * (BIG // 14_000)),
    "empty lists": lambda: body(*[item(more=b', "final_state": [%s1]' % (b"[]," * 4600))] * (BIG // 14_000)),
    "open brackets": lambda: b"[" * BIG,
    "texts": lambda: body(*[item(b"a" * 3_000_000)] * (BIG // 3_000_000)),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_large_body_does_not_stop_another_request(name: str) -> None:
    async with served(cache_mb=0) as (_, http):
        await http.post("/v1/score", json={"items": [exact()]})
        attack = asyncio.create_task(http.post("/v1/score", content=HOSTILE[name](), headers=JSON, timeout=120))
        worst, count = 0.0, 0
        while not attack.done() and count < 400:
            started = time.monotonic()
            answer = await http.post("/v1/score", json={"items": [exact()]})
            worst, count = max(worst, time.monotonic() - started), count + 1
            assert answer.json()["results"][0]["reward"] == 1.0
            await asyncio.sleep(0.01)
        attack.cancel()
        await asyncio.gather(attack, return_exceptions=True)
    assert worst < LIMIT_S and count > 3, (worst, count)


def rows() -> list[dict[str, Any]]:
    text = "x" * 2000
    plain = [exact(text if n % 3 else "4", id=f"r{n}", group=f"g{n // 8}", run=f"run{n % 2}") for n in range(150)]
    faulty = [exact(7), exact("a\ud800b"), exact(verifier="none"), exact(prompt=3), exact(final_state={"n": 2**70})]
    return [*plain, *faulty, exact(options={"cpu_s": 1e9}), exact(reference={"gold": 1})]


@pytest.mark.parametrize("encoding", Encoding)
async def test_a_batch_is_the_same_as_if_it_were_read_here(encoding: Encoding) -> None:
    async with served() as (app, _):
        front = app.state.front
        intake: Intake = front.engine.intake
        items = {"items": rows(), "defaults": {"step": 3}, "deadline_s": 9.5}
        text = json.dumps(items).encode()
        if encoding is Encoding.JSON:
            sent, here = text, intake.read_json(text, owner="o")
        elif encoding is Encoding.MSGPACK:
            sent = msgspec.msgpack.encode({"items": [r for r in rows()[:150]], "deadline_s": 9.5})
            here = intake.read_msgpack(sent, owner="o")
        else:
            sent = to_request(json.dumps({"items": rows()[:150], "deadline_s": 9.5}).encode()).SerializeToString()
            here = batch_of(sent, intake, owner="o", left_s=None)
        there = await front.readers.read(encoding, sent, owner="o")
    assert (there.owner, there.deadline_s, len(there.entries)) == (here.owner, 9.5, len(here.entries))
    for one, other in zip(here.entries, there.entries, strict=True):
        names = [name for name in type(one).__slots__ if name not in ("key", "fingerprint")]
        assert type(one) is type(other)
        assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]


async def test_uploaded_references_are_found_and_the_verdict_is_cached_alike() -> None:
    reference = json.dumps(exact()["reference"]).encode()
    digest = sha256(reference).hexdigest()
    pointing = exact() | {"reference": {"$ref": f"sha256:{digest}"}}
    async with served() as (_, http):
        await http.put(f"/v1/references/{digest}", content=reference, headers=JSON)
        small = (await http.post("/v1/score", json={"items": [pointing]})).json()["results"]
        padded = {"items": [pointing, exact("x" * 300_000)]}
        large = (await http.post("/v1/score", json=padded)).json()["results"]
    assert (large[0]["reward"], large[0]["cached"], large[0]["item_key"]) == (1.0, True, small[0]["item_key"])


async def test_a_reader_that_is_killed_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served() as (app, http):
        large = {"items": [exact(), exact("y" * 2_000_000)]}
        readers = app.state.front.readers
        for _ in range(3):
            asked = asyncio.create_task(http.post("/v1/score", json=large))
            while not readers._all:
                await asyncio.sleep(0.005)
            for reader in list(readers._all):
                os.kill(reader.process.pid, signal.SIGKILL)
            assert [r["reward"] for r in (await asked).json()["results"]] == [1.0, 0.0]
        assert readers.restarts >= 1
        monkeypatch.setattr(offloading, "LONGEST_S", 0.0)
        answer: httpx.Response = await http.post("/v1/score", json=large)
        assert answer.status_code == 413
    assert not readers._all
