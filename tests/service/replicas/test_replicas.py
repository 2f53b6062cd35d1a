"""Replicas that share a Redis: verdicts and references are shared by key; unauthenticated entries are misses."""

import asyncio
import hashlib
import json
import time
from typing import Any

import httpx
import pytest
from redis import Redis

from assay.service.replicas.seal import Seal

from ..http.conftest import JSON, exact
from .conftest import SECRET, RedisServer, metric, replica

pytestmark = pytest.mark.asyncio(loop_scope="module")
Pair = tuple[httpx.AsyncClient, httpx.AsyncClient]


async def score(http: httpx.AsyncClient, *items: dict[str, Any], key: str = "key-alpha") -> list[dict[str, Any]]:
    answer = await http.post("/v1/score", json={"items": list(items)}, headers={"authorization": f"Bearer {key}"})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["results"])


async def written(server: RedisServer, results: list[dict[str, Any]]) -> list[str]:
    """Return the names of the entries once Redis has them: writes are asynchronous."""
    with Redis.from_url(server.url) as redis:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            names = [next(iter(redis.keys(f"assay:v3:*:{one['item_key']}")), b"").decode() for one in results]
            if all(names):
                return names
            await asyncio.sleep(0.02)
    raise AssertionError("not written")


async def test_a_verdict_of_one_replica_is_a_cache_hit_of_the_other(pair: Pair, lasting_redis: RedisServer) -> None:
    told = await score(pair[0], exact("5"))
    await written(lasting_redis, told)
    hits = await metric(pair[1], "assay_redis_hits_total")
    (first,), (second,) = told, await score(pair[1], exact("5"))
    assert (first["cached"], second["cached"]) == (False, True)
    kept = ("reward", "score", "outcome", "reason", "extracted", "span", "item_key", "verifier")
    assert {name: first[name] for name in kept} == {name: second[name] for name in kept}
    assert await metric(pair[1], "assay_redis_hits_total") == hits + 1


async def test_keys_share_nothing(pair: Pair, lasting_redis: RedisServer) -> None:
    await written(lasting_redis, await score(pair[0], exact("key")))
    assert [(await score(pair[1], exact("key"), key=key))[0]["cached"] for key in ("key-beta", "key-alpha")] == [
        False,
        True,
    ]


async def test_no_verdict_is_never_shared(pair: Pair, lasting_redis: RedisServer) -> None:
    none, right = await score(pair[0], exact("n", reference={"mode": "string"}), exact("n"))
    assert none["reward"] is None and right["reward"] == 0.0
    await written(lasting_redis, [right])
    with Redis.from_url(lasting_redis.url) as redis:
        assert not redis.keys(f"*{none['item_key']}")


async def test_an_entry_that_fails_verification_is_a_miss(pair: Pair, lasting_redis: RedisServer) -> None:
    items = [exact("4", prompt=None), exact("t5")]
    right, wrong = await written(lasting_redis, await score(pair[0], *items))
    with Redis.from_url(lasting_redis.url) as redis:
        moved, changed = redis.get(right), bytearray(redis.get(right))
        changed[-1] ^= 1
        redis.set(wrong, moved)  # a right answer's entry under a wrong one's name
        redis.set(right, bytes(changed))
    rejected = await metric(pair[1], "assay_redis_rejected_total")
    told = await score(pair[1], *items)
    assert [(one["reward"], one["cached"]) for one in told] == [(1.0, False), (0.0, False)]
    assert await metric(pair[1], "assay_redis_rejected_total") == rejected + 2


async def test_junk_with_a_valid_mac_is_a_miss(pair: Pair, lasting_redis: RedisServer) -> None:
    (name,) = await written(lasting_redis, await score(pair[0], exact("junk")))
    with Redis.from_url(lasting_redis.url) as redis:
        redis.set(name, Seal(SECRET).close("verdict", name, b"\xc1junk"))
    (told,) = await score(pair[1], exact("junk"))
    assert (told["reward"], told["cached"]) == (0.0, False)


async def test_an_evicted_entry_is_a_miss(pair: Pair, lasting_redis: RedisServer) -> None:
    (name,) = await written(lasting_redis, await score(pair[0], exact("gone")))
    with Redis.from_url(lasting_redis.url) as redis:
        redis.delete(name)
    assert (await score(pair[1], exact("gone")))[0]["cached"] is False


async def test_cheap_verdicts_are_not_shared(lasting_redis: RedisServer) -> None:
    async with replica(lasting_redis, keys=("key-alpha",), worth_us=1e9) as one:
        (told,) = await score(one, exact("cheap"))
        assert await metric(one, "assay_redis_misses_total") == 0
    with Redis.from_url(lasting_redis.url) as redis:
        assert not redis.keys(f"*{told['item_key']}")


async def test_corrupted_redis_keys_affect_nothing_else(pair: Pair, lasting_redis: RedisServer) -> None:
    await score(pair[0], exact("q"), key="key-beta")
    with Redis.from_url(lasting_redis.url) as redis:
        until = time.monotonic() + 10
        while not (names := redis.keys("assay:q1:*")) and time.monotonic() < until:
            await asyncio.sleep(0.02)
        for name in names:
            redis.set(name, b"no hash")
        await asyncio.sleep(0.5)
        assert [await metric(http, "assay_redis_up") for http in pair] == [1, 1]
        for name in names:
            redis.delete(name)
            redis.hset(name, "stranger", b"\x01junk")
    await score(pair[1], exact("q2"), key="key-beta")


async def test_entries_of_another_secret_are_rejected(pair: Pair, lasting_redis: RedisServer) -> None:
    await written(lasting_redis, await score(pair[0], exact("secret")))
    async with replica(lasting_redis, secret="t" * 32, keys=("key-alpha",)) as stranger:
        assert (await score(stranger, exact("secret")))[0]["cached"] is False
        assert await metric(stranger, "assay_redis_rejected_total") == 1


async def test_an_uploaded_reference_is_available_to_all_replicas_for_its_key_only(
    pair: Pair, lasting_redis: RedisServer
) -> None:
    body = json.dumps(exact()["reference"]).encode()
    digest = hashlib.sha256(body).hexdigest()
    await pair[0].put(f"/v1/references/{digest}", content=body, headers=JSON | {"authorization": "Bearer key-alpha"})
    item = exact(reference={"$ref": f"sha256:{digest}"})
    until = time.monotonic() + 10
    while (told := (await score(pair[1], item))[0])["reward"] is None and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert told["reward"] == 1.0
    (theirs,) = await score(pair[1], item, key="key-beta")
    assert (theirs["reward"], theirs["error"]["code"]) == (None, "unknown_reference")


async def test_a_quota_holds_over_all_replicas(pair: Pair, lasting_redis: RedisServer) -> None:
    """Also if another key's usage entry was corrupted."""
    headers = {"authorization": "Bearer key-gamma"}
    for http in pair:
        await score(http, exact("q3"), key="key-alpha")
    with Redis.from_url(lasting_redis.url) as redis:
        for name in redis.keys("assay:q1:*"):
            redis.set(name, b"no hash")
    await score(pair[0], *(exact(str(n)) for n in range(59)), key="key-gamma")
    until = time.monotonic() + 10
    while time.monotonic() < until:
        answer = await pair[1].post("/v1/score", json={"items": [exact("a"), exact("b")]}, headers=headers)
        if answer.status_code == 429:
            break
        await asyncio.sleep(0.05)
    assert (answer.status_code, answer.json()["quota"], answer.json()["limit"]) == (429, "items", 60)
