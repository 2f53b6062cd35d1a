"""Shadow mode: a share of the requests is scored by another version too; its verdicts are compared and never returned.

The other version is another service of ours (`[shadow] url`). After an answer has left, its request goes there as it
came, in the background, a few at a time; what does not fit is counted and let go, so that callers never wait. Compared
are reward, score and reason, item by item. `/metrics` counts changes by verifier and outcome; `/v1/shadow` shows each
caller the last of its own, without completions or references.

Covers `POST /v1/score` in JSON and msgpack. Not covered: streams, gRPC, the wires of other systems; items whose
references were uploaded to this service alone are counted as not comparable.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import msgspec
import structlog
from pydantic import BaseModel, ConfigDict, Field, SecretStr

log = structlog.get_logger()
IN_FLIGHT = 4
MARK = "x-assay-shadow"
"""The header of requests that a shadow sends: they are offered to no further one."""
MOST_OWNERS = 1000
_WITHIN = 1e-9
_FAILURES = (httpx.HTTPError, msgspec.MsgspecError)


class ShadowSettings(BaseModel):
    """The other version, and how much of the traffic it sees."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(pattern=r"^https?://", description="A service that runs the other version.")
    api_key: SecretStr | None = Field(None, description="Its API key.")
    share: float = Field(1.0, gt=0, le=1, description="Share of the requests that it sees.")
    timeout_s: float = Field(120.0, gt=0, description="How long one request may take there.")
    examples: int = Field(100, ge=0, description="Changes kept for `/v1/shadow`, for each caller.")


class _Verdict(msgspec.Struct):
    """What is compared of a result."""

    id: str
    reward: float | None
    score: float | None
    outcome: str
    reason: str
    verifier: str
    item_key: str | None = None

    def public(self) -> dict[str, Any]:
        """Without anything of the item."""
        return {name: getattr(self, name) for name in ("reward", "score", "outcome", "reason", "verifier")}


class _Answer(msgspec.Struct):
    results: list[_Verdict]


_JSON, _MSGPACK = msgspec.json.Decoder(_Answer), msgspec.msgpack.Decoder(_Answer)


class Shadow:
    """Sends requests to the other version and keeps count. Belongs to the app's loop."""

    def __init__(self, settings: ShadowSettings, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        key = settings.api_key
        headers = {} if key is None else {"authorization": f"Bearer {key.get_secret_value()}"}
        self._settings = settings
        self._http = httpx.AsyncClient(
            base_url=settings.url, headers=headers, timeout=settings.timeout_s, transport=transport
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._examples: dict[str, deque[dict[str, Any]]] = defaultdict(lambda: deque(maxlen=settings.examples))
        self.requests: Counter[str] = Counter()
        """By what became of them: compared, failed, let_go."""
        self.results: Counter[tuple[str, str]] = Counter()
        """By verifier and change, such as `correct>incorrect` or `same`."""

    def offer(self, body: bytes, answer: bytes, *, kind: str, owner: str) -> None:
        """Perhaps send a request that was answered; returns at once."""
        if self._settings.share < 1 and random.random() >= self._settings.share:
            return
        if len(self._tasks) >= IN_FLIGHT:
            self.requests["let_go"] += 1
            return
        task = asyncio.create_task(self._compare(body, answer, kind, owner))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _compare(self, body: bytes, answer: bytes, kind: str, owner: str) -> None:
        packed = not kind.startswith("application/json")
        read = _MSGPACK if packed else _JSON
        try:
            response = await self._http.post("/v1/score", content=body, headers={"content-type": kind, MARK: "1"})
            response.raise_for_status()
            theirs = {verdict.id: verdict for verdict in read.decode(response.content).results}
        except _FAILURES as error:
            self.requests["failed"] += 1
            log.warning("shadow failed", kind=type(error).__name__)
            return
        self.requests["compared"] += 1
        for ours in read.decode(answer).results:
            self._count(ours, theirs.get(ours.id), owner)

    def _count(self, ours: _Verdict, theirs: _Verdict | None, owner: str) -> None:
        comparable = theirs is not None and ours.reward is not None and theirs.reward is not None
        if theirs is None or (not comparable and ours.reward is not theirs.reward):
            change = "not_comparable"
        elif _alike(ours, theirs):
            change = "same"
        else:
            change = f"{ours.outcome}>{theirs.outcome}"
        self.results[ours.verifier, change] += 1
        if change not in ("same", "not_comparable") and theirs is not None:
            if owner not in self._examples and len(self._examples) >= MOST_OWNERS:
                del self._examples[next(iter(self._examples))]
            example = {"id": ours.id, "item_key": ours.item_key, "ours": ours.public(), "theirs": theirs.public()}
            self._examples[owner].append(example)

    def report(self, owner: str) -> Mapping[str, Any]:
        """Return the counts, and the caller's own examples, latest first."""
        return {
            "requests": dict(self.requests),
            "results": [
                {"verifier": verifier, "change": change, "count": count}
                for (verifier, change), count in self.results.most_common()
            ],
            "examples": list(reversed(self._examples[owner])) if owner in self._examples else [],
        }

    def counts(self) -> Iterator[tuple[str, str, int]]:
        """(verifier, change, results), for metrics."""
        for (verifier, change), count in self.results.items():
            yield verifier, change, count

    async def drained(self) -> None:
        """Wait for what is under way (for tests and the end)."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Let go of what is under way."""
        for task in self._tasks:
            task.cancel()
        await self.drained()
        await self._http.aclose()


def _alike(ours: _Verdict, theirs: _Verdict) -> bool:
    pairs = ((ours.reward, theirs.reward), (ours.score, theirs.score))
    near = all(a == b or (a is not None and b is not None and abs(a - b) <= _WITHIN) for a, b in pairs)
    return near and ours.reason == theirs.reason
