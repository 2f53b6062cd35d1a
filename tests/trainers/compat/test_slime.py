"""slime's remote reward as its trainer asks for it: many at once, ten tries, the answer is the reward."""

import asyncio
import random
import threading
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from .._service import Service
from .conftest import boxed

TRIES, TOTAL_S, CONNECTIONS = 10, 120, 64


async def remote_reward(session: aiohttp.ClientSession, url: str, sample: dict[str, Any]) -> Any:
    """slime's behaviour in our own words: any fault is tried again, later each time."""
    for attempt in range(TRIES):
        try:
            async with session.post(url, json=sample) as answer:
                answer.raise_for_status()
                return await answer.json()
        except (aiohttp.ClientError, TimeoutError):
            if attempt == TRIES - 1:
                raise
            await asyncio.sleep(min(2**attempt, 30) * 0.1 + random.random() * 0.1)
    raise AssertionError


def rewards(url: str, samples: list[dict[str, Any]]) -> list[Any]:
    async def all_of_them() -> list[Any]:
        connector = aiohttp.TCPConnector(limit=CONNECTIONS)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(TOTAL_S)) as session:
            return await asyncio.gather(*(remote_reward(session, url, sample) for sample in samples))

    return asyncio.run(all_of_them())


def sample(said: Any, label: Any, prompt: Any = "2+2?") -> dict[str, Any]:
    return {"prompt": prompt, "response": boxed(said), "label": label}


def test_the_answer_is_the_reward(wires: Service) -> None:
    chat = [{"role": "user", "content": "2+2?"}]
    asked = [sample("4", "4"), sample("5", "4"), sample("4", "4", chat), sample("4", None), sample("9" * 40, "9" * 40)]
    assert rewards(f"{wires.http}/slime", asked) == [1.0, 0.0, 1.0, 0.5, 1.0]


def test_many_at_once_keep_their_order(wires: Service) -> None:
    told = rewards(f"{wires.http}/slime", [sample(n, str(n - n % 2)) for n in range(512)])
    assert told == [float(n % 2 == 0) for n in range(512)]


def test_a_full_queue_and_an_outage_are_borne_by_its_tries(page: Path) -> None:
    one = Service(CONFIG=str(page), LIMITS__QUEUE_ITEMS="8", CACHE_MB="0")
    try:
        threading.Timer(0.1, lambda: (one.kill(), one.start())).start()
        told = rewards(f"{one.http}/slime", [sample(n, str(n - n % 2)) for n in range(128)])
        assert told == [float(n % 2 == 0) for n in range(128)]
    finally:
        one.kill()


def test_what_never_gets_a_verdict_is_raised_and_never_a_number(page: Path) -> None:
    one = Service(CONFIG=str(page), WIRES__SLIME__ROW_FAULT="refuse")
    try:
        with pytest.raises(aiohttp.ClientResponseError):
            rewards(f"{one.http}/slime", [sample("4", None)])
    finally:
        one.kill()
