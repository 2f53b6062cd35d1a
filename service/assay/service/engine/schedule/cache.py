"""The verdict cache and the store of uploaded references: bounded by bytes, least recently used goes first.

Only verdicts are kept: a `no_verdict` is never cached. Entries hold the lane's report, JSON as bytes.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from hashlib import sha256

from cachetools import LRUCache

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.protocol import Report
from assay.service.engine.schedule.invalidation import Made, Rule

_ENTRY_BYTES = 600


def _report_bytes(report: Report) -> int:
    return _ENTRY_BYTES + sum(len(value) for value in report.fields.values() if isinstance(value, bytes))


class VerdictCache:
    """Reports by item key, each with whose it is and when it was made."""

    def __init__(self, capacity_bytes: int) -> None:
        self._kept: LRUCache[bytes, tuple[Report, Made]] = LRUCache(
            max(capacity_bytes, 1), getsizeof=lambda kept: _report_bytes(kept[0])
        )

    def get(self, key: bytes) -> Report | None:
        """Return the report of a key, or None."""
        kept = self._kept.get(key)
        return None if kept is None else kept[0]

    def put(self, key: bytes, report: Report, made: Made) -> None:
        """Cache a verdict, unless it alone is larger than the cache."""
        if report.reward is not None and _report_bytes(report) <= self._kept.maxsize:
            self._kept[key] = (report, made)

    def drop(self, rule: Rule) -> int:
        """Drop the verdicts that a rule covers; return how many there were."""
        covered = [key for key, (_, made) in self._kept.items() if rule.covers(made, key)]
        for key in covered:
            del self._kept[key]
        return len(covered)

    def __contains__(self, key: bytes) -> bool:
        return key in self._kept

    def __len__(self) -> int:
        return len(self._kept)


class ReferenceStore:
    """Uploaded references, each visible to its owner only. Safe to use from several threads.

    What must go is the least recently used one of the owner that holds most: uploads of one never drop another's, as
    long as that one holds less.
    """

    def __init__(self, capacity_bytes: int, *, entry_bytes: int) -> None:
        self._capacity = capacity_bytes
        self._bodies: dict[str, OrderedDict[str, bytes]] = {}
        self._held: Counter[str] = Counter()
        self._entry_bytes = min(entry_bytes, capacity_bytes)
        self._lock = threading.Lock()

    def put(self, owner: str, digest: str, body: bytes) -> None:
        """Store a reference. Raises EnvelopeFault if it is too large or its SHA-256 is not `digest`."""
        if len(body) > self._entry_bytes:
            detail = f"reference: must be at most {self._entry_bytes} bytes"
            raise EnvelopeFault(ProblemCode.TOO_LARGE, detail, status=413, field="reference", limit=self._entry_bytes)
        if sha256(body).hexdigest() != digest:
            raise EnvelopeFault(
                ProblemCode.DIGEST_MISMATCH, "the body's SHA-256 is not the one in the path", field="sha256"
            )
        with self._lock:
            own = self._bodies.setdefault(owner, OrderedDict())
            self._held[owner] += len(body) - len(own.pop(digest, b""))
            own[digest] = body
            while self._held.total() > self._capacity:
                self._drop_one(max(self._held, key=self._held.__getitem__))

    def _drop_one(self, owner: str) -> None:
        bodies = self._bodies[owner]
        self._held[owner] -= len(bodies.popitem(last=False)[1])
        if not bodies:
            del self._bodies[owner], self._held[owner]

    def get(self, owner: str, digest: str) -> bytes | None:
        """Return a reference of an owner, or None."""
        with self._lock:
            own = self._bodies.get(owner)
            if own is None or digest not in own:
                return None
            own.move_to_end(digest)
            return own[digest]
