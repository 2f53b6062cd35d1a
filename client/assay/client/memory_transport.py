"""A transport in memory, for tests of code that uses a client: your function is the engine.

The function gets each item as a mapping (defaults merged) and returns a reward, None for no verdict, or
a mapping with fields of a result. It may be a coroutine function, and may raise an `AssayError` to
rehearse a fault of the service. Nothing is validated and no verifier runs.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from assay.contract.envelope import ScoreResponse
from assay.contract.result import ErrorInfo, Result, outcome_of

Handler = Callable[[dict[str, Any]], Any]


class MemoryTransport:
    """`Client(transport=MemoryTransport(lambda item: 1.0))`. `items` keeps what was sent."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.items: list[dict[str, Any]] = []

    async def score(self, body: bytes, *, timeout_s: float | None) -> bytes:
        """Answer a ScoreRequest."""
        results = [result async for result in self._results(body)]
        return ScoreResponse(results=results).model_dump_json().encode()

    async def stream(self, body: bytes, *, timeout_s: float | None) -> AsyncIterator[bytes]:
        """Answer a ScoreRequest line by line."""
        count = 0
        async for result in self._results(body):
            count += 1
            yield result.model_dump_json().encode()
        yield json.dumps({"done": True, "count": count}).encode()

    async def put_reference(self, digest: str, body: bytes) -> None:
        """References travel inline here."""

    async def get(self, path: str) -> bytes:
        """No verifiers, but healthy."""
        return b'{"verifiers":[]}' if path == "/v1/verifiers" else b'{"status":"ok"}'

    async def aclose(self) -> None:
        """Nothing to let go."""

    async def _results(self, body: bytes) -> AsyncIterator[Result]:
        request = json.loads(body)
        for item in request["items"]:
            merged = {**request.get("defaults", {}), **item}
            self.items.append(merged)
            said = self._handler(merged)
            yield _result(merged, await said if inspect.isawaitable(said) else said)


def _result(item: Mapping[str, Any], said: Any) -> Result:
    fields = dict(said) if isinstance(said, Mapping) else {"reward": said}
    reward = fields.get("reward")
    score = fields.setdefault("score", reward if reward is not None and 0 <= reward <= 1 else None)
    if reward is None:
        fields.setdefault("error", ErrorInfo(code="unknown", message="no verdict", retryable=False))
    defaults = {
        "id": item["id"],
        "outcome": outcome_of(reward=reward, score=score),
        "reason": "no_verdict" if reward is None else "equal" if score == 1 else "unequal",
        "verifier": item.get("verifier", "memory"),
    }
    return Result.model_validate({**defaults, "reward": None, **fields})
