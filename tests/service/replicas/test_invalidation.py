"""Verdicts are invalidated by key, verifier and time: in memory, on other replicas, and in Redis."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from assay.service.engine.schedule.invalidation import Made, Rule

from ..http.conftest import exact, served
from .conftest import RedisServer, replica
from .test_replicas import Pair, score, written

pytestmark = pytest.mark.asyncio(loop_scope="module")
ALPHA = {"authorization": "Bearer key-alpha"}
Asked = Callable[[dict[str, Any]], dict[str, Any]]
RULES: dict[str, Asked] = {
    "item_key": lambda told: {"item_key": told["item_key"]},
    "verifier": lambda told: {"verifier": "exact"},
    "verifier and version": lambda told: {"verifier": told["verifier"]},
    "time": lambda told: {"since": time.time() - 60},
    "all three": lambda told: {"item_key": told["item_key"], "verifier": "exact", "since": 1.0, "until": time.time()},
}
OTHERS: dict[str, Asked] = {
    "another key": lambda told: {"item_key": "00" * 32},
    "another verifier": lambda told: {"verifier": "math"},
    "another version": lambda told: {"verifier": "exact@999"},
    "an earlier time": lambda told: {"until": time.time() - 60},
    "a later time": lambda told: {"since": time.time() + 60},
}


async def invalidate(http: httpx.AsyncClient, asked: dict[str, Any], **headers: str) -> dict[str, Any]:
    answer = await http.post("/v1/invalidate", json=asked, headers=headers or ALPHA)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("rule", RULES)
async def test_a_verdict_is_invalid_in_memory_on_replicas_and_in_redis(
    rule: str, pair: Pair, lasting_redis: RedisServer
) -> None:
    row = exact(f"5 {rule}")
    (told,) = await score(pair[0], row)
    await written(lasting_redis, [told])
    assert (await score(pair[1], row))[0]["cached"]
    said = await invalidate(pair[0], RULES[rule](told))
    assert said["dropped"] >= 1 and said["replicas_told"]
    await asyncio.sleep(1.5)  # the other replica reads the rules
    (other,) = await score(pair[1], row)
    assert not other["cached"] and other["item_key"] == told["item_key"]
    assert (await score(pair[1], row))[0]["cached"]  # what was made afterwards is valid


@pytest.mark.parametrize("rule", OTHERS)
async def test_what_a_rule_does_not_cover_stays(rule: str, pair: Pair) -> None:
    row = exact(f"6 {rule}")
    (told,) = await score(pair[0], row)
    await invalidate(pair[0], OTHERS[rule](told))
    assert (await score(pair[0], row))[0]["cached"]


async def test_nobody_invalidates_the_verdicts_of_another_key(pair: Pair) -> None:
    row = exact("7")
    await score(pair[0], row, key="key-beta")
    await invalidate(pair[0], {"since": 1.0})
    assert (await score(pair[0], row, key="key-beta"))[0]["cached"]


async def test_a_replica_that_starts_later_takes_no_invalid_verdict(redis_server: RedisServer) -> None:
    async with replica(redis_server) as one:
        told = await score(one, exact("8"))
        await written(redis_server, told)
        await invalidate(one, {"verifier": "exact"})
    async with replica(redis_server) as late:
        assert not (await score(late, exact("8")))[0]["cached"]


async def test_without_redis_the_caller_is_told_that_replicas_are_not(redis_server: RedisServer) -> None:
    async with replica(redis_server) as one:
        await score(one, exact("9"))
        redis_server.kill()
        assert await invalidate(one, {"since": 1.0}) == {"dropped": 1, "replicas_told": False}
    async with served() as (_, http):
        await score(http, exact("9"))
        assert await invalidate(http, {"verifier": "exact"}) == {"dropped": 1, "replicas_told": True}
        assert not (await score(http, exact("9")))[0]["cached"]


@pytest.mark.parametrize(
    "body", ["", "{}", "[]", "7", '{"x": 1}', '{"item_key": "no"}', '{"since": "1"}', '{"since": NaN}']
)
async def test_a_rule_that_says_nothing_is_refused(body: str, pair: Pair) -> None:
    headers = ALPHA | {"content-type": "application/json"}
    answer = await pair[0].post("/v1/invalidate", content=body, headers=headers)
    assert 400 <= answer.status_code < 500 and answer.json()["type"].startswith("urn:assay:problem:")


async def test_a_rule_covers_by_every_part() -> None:
    rule, made = Rule("o", b"k", "v", 10.0, 20.0), Made("o", "v@2", 15.0)
    assert rule.covers(made, b"k") and not rule.covers(made, b"l")
    others = [Made("p", "v@2", 15.0), Made("o", "w@2", 15.0), Made("o", "v@2", 9.0), Made("o", "v@2", 21.0)]
    assert not any(rule.covers(other, b"k") for other in others)
