"""Usage per key in the current time window: items, and seconds of scoring.

A replica counts locally and never waits: every SYNC_S it writes its own total to Redis (so that writing twice counts
once) and reads those of the others. Between two synchronisations the replicas together may exceed a quota by what is
used in that time; while Redis is down each replica keeps the others' last totals. Seconds are CPU seconds of text
verifiers, and wall seconds that a program held its slot.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EnvelopeFault, QuotaExceeded
from assay.service.replicas.link import Link
from assay.service.replicas.seal import Seal
from assay.service.replicas.settings import QuotaSettings

KIND = "used"
SYNC_S = 0.1
PATIENCE = 50.0
_ENTRY_BYTES = 256


@dataclass
class Used:
    """The usage of one key in one window: this replica's, and the others' last totals."""

    items: int = 0
    cpu_s: float = 0.0
    others_items: int = 0
    others_cpu_s: float = 0.0


class _Totals(msgspec.Struct, array_like=True):
    items: int
    cpu_s: float


class Quotas:
    """Enforces quotas per key."""

    def __init__(self, settings: QuotaSettings, *, clock: Any = time.time) -> None:
        self._settings, self._clock = settings, clock
        self._window = -1
        self._used: dict[str, Used] = {}
        self.refused: Counter[str] = Counter()

    def admit(self, owner: str, items: int) -> None:
        """Count submitted items. Raises `QuotaExceeded` (nothing is counted), or `EnvelopeFault` if they exceed the
        whole quota.
        """
        used, bound = self._of(owner), self._settings
        if bound.items is not None and items > bound.items:
            raise EnvelopeFault(
                ProblemCode.TOO_LARGE, "items: more items than the quota", status=413, field="items", limit=bound.items
            )
        if bound.items is not None and used.items + used.others_items + items > bound.items:
            raise self._refusal("items", bound.items)
        if bound.cpu_s is not None and used.cpu_s + used.others_cpu_s >= bound.cpu_s:
            raise self._refusal("cpu_s", bound.cpu_s)
        used.items += items

    def refund(self, owner: str, items: int) -> None:
        """Uncount items that were not accepted after all."""
        used = self._of(owner)
        used.items = max(used.items - items, 0)

    def charge(self, owner: str, cpu_s: float) -> None:
        """Count seconds that were used."""
        self._of(owner).cpu_s += cpu_s

    def _of(self, owner: str) -> Used:
        window = int(self._clock() // self._settings.window_s)
        if window != self._window:
            self._window, self._used = window, {}
        return self._used.setdefault(owner, Used())

    def _refusal(self, quota: str, limit: float) -> QuotaExceeded:
        self.refused[quota] += 1
        window_s = self._settings.window_s
        return QuotaExceeded(quota, limit=limit, retry_after_s=window_s - self._clock() % window_s)

    def open(self) -> tuple[int, list[tuple[str, Used]]]:
        """Return the window, and the owners with usage in it."""
        return self._window, list(self._used.items())

    @property
    def window_s(self) -> int:
        """Length of a window in seconds."""
        return self._settings.window_s


class SharedUse:
    """Synchronises this replica's usage with the others' through Redis."""

    def __init__(self, quotas: Quotas, link: Link, seal: Seal, *, prefix: str) -> None:
        self._quotas, self._link, self._seal = quotas, link, seal
        self._prefix, self._me = f"{prefix}:q1", secrets.token_hex(8)

    async def run(self) -> None:
        """Synchronise every SYNC_S until cancelled."""
        while True:
            await asyncio.sleep(SYNC_S)
            await self.sync()

    async def sync(self) -> None:
        """Write this replica's totals and read the others', once."""
        window, users = self._quotas.open()
        if not users or not self._link.up:
            return
        names = [f"{self._prefix}:{owner}:{window}" for owner, _ in users]
        totals = [self._entry(name, used) for name, (_, used) in zip(names, users, strict=True)]

        async def exchange(redis: Any) -> list[Any]:
            pipe = redis.pipeline(transaction=False)
            for name, total in zip(names, totals, strict=True):
                pipe.hset(name, self._me, total)
                pipe.expire(name, 2 * self._quotas.window_s)
                pipe.hgetall(name)
            answers: list[Any] = await pipe.execute(raise_on_error=False)
            self._link.counts["faults"] += any(isinstance(answer, Exception) for answer in answers)
            return answers[2::3]

        answers = await self._link.ask(exchange, patience=PATIENCE)
        for name, (_, used), replicas in zip(names, users, answers or (), strict=False):
            if isinstance(replicas, dict):  # otherwise the entry is invalid, and the others' last totals are kept
                self._update(name, used, replicas)

    def _entry(self, name: str, used: Used) -> bytes:
        payload = msgspec.msgpack.encode(_Totals(used.items, used.cpu_s))
        return self._seal.close(KIND, f"{name}:{self._me}", payload)

    def _update(self, name: str, used: Used, replicas: dict[bytes, bytes]) -> None:
        totals = [self._totals(name, who.decode("ascii", "replace"), entry) for who, entry in replicas.items()]
        others = [one for one in totals if one is not None]
        used.others_items = sum(one.items for one in others)
        used.others_cpu_s = sum(one.cpu_s for one in others)

    def _totals(self, name: str, who: str, entry: bytes) -> _Totals | None:
        if who == self._me or len(entry) > _ENTRY_BYTES:
            return None
        payload = self._seal.open(KIND, f"{name}:{who}", entry)
        try:
            return msgspec.msgpack.decode(payload or b"", type=_Totals)
        except msgspec.MsgspecError:
            self._link.counts["rejected"] += 1
            return None
