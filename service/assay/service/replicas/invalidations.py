"""Rules of invalidation that replicas share: a list in Redis of sealed entries, read every `PERIOD_S`.

Each replica drops what a new rule covers from its memory, and takes nothing from Redis that one covers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from assay.service.engine.schedule.invalidation import Made, Rule
from assay.service.replicas.link import Link
from assay.service.replicas.seal import Seal

KIND = "invalid"
PERIOD_S = 0.5
MOST_RULES = 1000
"""Rules that are kept; older ones are dropped first."""
_PATIENCE = 50.0


class SharedRules:
    """The rules of all replicas."""

    def __init__(self, link: Link, seal: Seal, *, prefix: str, ttl_s: int, apply: Callable[[Rule], object]) -> None:
        self._link, self._seal, self._ttl_s, self._apply = link, seal, ttl_s, apply
        self._name = f"{prefix}:invalid"
        self._rules: dict[bytes, Rule] = {}

    def cover(self, made: Made, key: bytes) -> bool:
        """Return whether a rule covers a verdict."""
        return any(rule.covers(made, key) for rule in self._rules.values())

    async def add(self, rule: Rule) -> bool:
        """Share a rule; return whether Redis has taken it."""
        entry = self._seal.close(KIND, self._name, msgspec.msgpack.encode(rule))
        self._keep(entry, rule)

        async def write(redis: object) -> bool:
            pipe = redis.pipeline(transaction=True)  # type: ignore[attr-defined]
            pipe.rpush(self._name, entry)
            pipe.ltrim(self._name, -MOST_RULES, -1)
            pipe.expire(self._name, self._ttl_s)
            await pipe.execute()
            return True

        return bool(await self._link.ask(write, patience=_PATIENCE))

    async def run(self) -> None:
        """Read the rules of other replicas for as long as the task lives."""
        while True:
            await asyncio.sleep(PERIOD_S)
            await self.sync()

    async def sync(self) -> None:
        """Read the rules once, and apply those that are new."""
        entries = await self._link.ask(lambda redis: redis.lrange(self._name, 0, -1), patience=_PATIENCE)
        for entry in entries or ():
            if isinstance(entry, bytes) and entry not in self._rules and (rule := self._opened(entry)) is not None:
                self._keep(entry, rule)
                self._apply(rule)

    def _opened(self, entry: bytes) -> Rule | None:
        payload = self._seal.open(KIND, self._name, entry)
        try:
            return None if payload is None else msgspec.msgpack.decode(payload, type=Rule)
        except msgspec.MsgspecError:
            return None

    def _keep(self, entry: bytes, rule: Rule) -> None:
        self._rules[entry] = rule
        while len(self._rules) > MOST_RULES:
            del self._rules[next(iter(self._rules))]
