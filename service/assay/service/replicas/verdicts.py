"""The second level of the verdict cache. Only verdicts are shared; an entry that fails verification is a miss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from assay.service.engine.protocol import Kind, Report
from assay.service.engine.schedule.invalidation import Made
from assay.service.replicas.invalidations import SharedRules
from assay.service.replicas.link import Link
from assay.service.replicas.outbox import Outbox
from assay.service.replicas.seal import Seal

KIND = "verdict"
KEYS_A_BUDGET = 256
"""Number of keys per budget: a request for more keys may take proportionally longer."""
_FORMAT = "3"
"""Changes when `Report` or `Made` does: entries of other formats are stored under other names."""


class SharedVerdicts:
    """Reports by owner and item key."""

    def __init__(
        self, link: Link, outbox: Outbox, seal: Seal, rules: SharedRules, *, prefix: str, entry_bytes: int
    ) -> None:
        self._link, self._outbox, self._seal, self._rules = link, outbox, seal, rules
        self._prefix, self._entry_bytes = f"{prefix}:v{_FORMAT}", entry_bytes

    async def get(self, keys: Sequence[tuple[str, bytes]]) -> Mapping[bytes, tuple[Report, Made]]:
        """Return the reports for these (owner, key) pairs that arrive within the budget."""
        names = [self._name(owner, key) for owner, key in keys]
        entries = await self._link.ask(lambda redis: redis.mget(names), patience=1 + len(names) / KEYS_A_BUDGET)
        found: dict[bytes, tuple[Report, Made]] = {}
        for (_, key), name, entry in zip(keys, names, entries or (), strict=False):
            kept = self._opened(name, entry) if isinstance(entry, bytes) else None
            if kept is not None and not self._rules.cover(kept[1], key):
                found[key] = kept
        self._link.counts["hits"] += len(found)
        self._link.counts["misses"] += len(keys) - len(found)
        return found

    def put(self, owner: str, key: bytes, report: Report, made: Made) -> None:
        """Queue a verdict to be shared. Never blocks."""
        payload = msgspec.msgpack.encode((msgspec.structs.replace(report, seq=0), made))
        if report.reward is None or len(payload) > self._entry_bytes:
            return
        name = self._name(owner, key)
        self._outbox.put(name, self._seal.close(KIND, name, payload))

    def _name(self, owner: str, key: bytes) -> str:
        return f"{self._prefix}:{owner}:{key.hex()}"

    def _opened(self, name: str, entry: bytes) -> tuple[Report, Made] | None:
        payload = self._seal.open(KIND, name, entry) if len(entry) <= self._entry_bytes + 64 else None
        try:
            kept = None if payload is None else msgspec.msgpack.decode(payload, type=tuple[Report, Made])
        except msgspec.MsgspecError:
            kept = None
        if kept is None or kept[0].kind != Kind.VERDICT or kept[0].reward is None or not math.isfinite(kept[0].reward):
            self._link.counts["rejected"] += 1
            return None
        return kept
