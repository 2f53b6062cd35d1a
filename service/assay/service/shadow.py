"""Shadow mode: another version scores a share of the requests too; its verdicts are compared and never returned.

The other version is a second Assay service (`[shadow] url`). After an answer has been sent, its request is forwarded
unchanged, in the background, a few at a time; requests beyond that are counted and dropped, so that callers never wait.
Reward, score and reason are compared item by item. `/metrics` counts changes by verifier and outcome; `/v1/shadow`
shows each caller its own latest examples, without completions or references.

Covers `POST /v1/score` in JSON and msgpack. Not covered: streams, gRPC, compat protocols; items whose references were
uploaded only to this service are counted as not comparable.
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
"""Header of forwarded requests: they are not forwarded again."""
MOST_OWNERS = 1000
_WITHIN = 1e-9
_FAILURES = (httpx.HTTPError, msgspec.MsgspecError)


class ShadowSettings(BaseModel):
    """The other version, and the share of the traffic that it gets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(pattern=r"^https?://", description="URL of the service that runs the other version.")
    api_key: SecretStr | None = Field(None, description="Its API key.")
    share: float = Field(1.0, gt=0, le=1, description="Share of the requests that are forwarded.")
    timeout_s: float = Field(120.0, gt=0, description="Time limit of a forwarded request in seconds.")
    examples: int = Field(100, ge=0, description="Number of changes kept per caller for `/v1/shadow`.")


class _Verdict(msgspec.Struct):
    """The compared fields of a result."""

    id: str
    reward: float | None
    score: float | None
    outcome: str
    reason: str
    verifier: str
    item_key: str | None = None

    def public(self) -> dict[str, Any]:
        """Return the fields, which contain nothing of the item."""
        return {name: getattr(self, name) for name in ("reward", "score", "outcome", "reason", "verifier")}


class _Answer(msgspec.Struct):
    results: list[_Verdict]


_JSON, _MSGPACK = msgspec.json.Decoder(_Answer), msgspec.msgpack.Decoder(_Answer)


class Shadow:
    """Forwards requests to the other version and counts changes. Belongs to the app's loop."""

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
        """Requests by outcome: compared, failed, let_go."""
        self.results: Counter[tuple[str, str]] = Counter()
        """Results by verifier and change, such as `correct>incorrect` or `same`."""

    def offer(self, body: bytes, answer: bytes, *, kind: str, owner: str) -> None:
        """Forward an answered request if it is sampled and there is capacity; returns at once."""
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
            other = {verdict.id: verdict for verdict in read.decode(response.content).results}
        except _FAILURES as error:
            self.requests["failed"] += 1
            log.warning("shadow failed", kind=type(error).__name__)
            return
        self.requests["compared"] += 1
        for own in read.decode(answer).results:
            self._count(own, other.get(own.id), owner)

    def _count(self, own: _Verdict, other: _Verdict | None, owner: str) -> None:
        comparable = other is not None and own.reward is not None and other.reward is not None
        if other is None or (not comparable and own.reward is not other.reward):
            change = "not_comparable"
        elif _alike(own, other):
            change = "same"
        else:
            change = f"{own.outcome}>{other.outcome}"
        self.results[own.verifier, change] += 1
        if change not in ("same", "not_comparable") and other is not None:
            if owner not in self._examples and len(self._examples) >= MOST_OWNERS:
                del self._examples[next(iter(self._examples))]
            example = {"id": own.id, "item_key": own.item_key, "ours": own.public(), "theirs": other.public()}
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
        """Yield (verifier, change, results) for metrics."""
        for (verifier, change), count in self.results.items():
            yield verifier, change, count

    async def drained(self) -> None:
        """Wait for running comparisons (for tests and shutdown)."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Cancel running comparisons."""
        for task in self._tasks:
            task.cancel()
        await self.drained()
        await self._http.aclose()


def _alike(own: _Verdict, other: _Verdict) -> bool:
    pairs = ((own.reward, other.reward), (own.score, other.score))
    near = all(a == b or (a is not None and b is not None and abs(a - b) <= _WITHIN) for a, b in pairs)
    return near and own.reason == other.reason
