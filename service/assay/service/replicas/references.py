"""Uploaded references from other replicas: fetched once, then kept locally. Each is visible to its owner only."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from assay.service.replicas.link import Link
from assay.service.replicas.outbox import Outbox
from assay.service.replicas.seal import Seal

KIND = "reference"
PATIENCE = 50.0
"""Time limit of a reference, in multiples of the budget: otherwise the client must upload it again."""


class SharedReferences:
    """Reference bodies by owner and SHA-256."""

    def __init__(self, link: Link, outbox: Outbox, seal: Seal, *, prefix: str, entry_bytes: int) -> None:
        self._link, self._outbox, self._seal = link, outbox, seal
        self._prefix, self._entry_bytes = f"{prefix}:r1", entry_bytes

    def put(self, owner: str, digest: str, body: bytes) -> None:
        """Queue a reference to be shared. Never blocks."""
        name = self._name(owner, digest)
        self._outbox.put(name, self._seal.close(KIND, name, body))

    async def get(self, owner: str, digests: Iterable[str]) -> dict[str, bytes]:
        """Return the references that exist and match their digest."""
        wanted = list(digests)
        names = [self._name(owner, digest) for digest in wanted]
        entries: list[Any] | None = await self._link.ask(lambda redis: redis.mget(names), patience=PATIENCE)
        found: dict[str, bytes] = {}
        for digest, name, entry in zip(wanted, names, entries or (), strict=False):
            body = (
                self._seal.open(KIND, name, entry)
                if isinstance(entry, bytes) and len(entry) <= self._entry_bytes + 64
                else None
            )
            if body is not None and sha256(body).hexdigest() == digest:
                found[digest] = body
            elif entry is not None:
                self._link.counts["rejected"] += 1
        return found

    def _name(self, owner: str, digest: str) -> str:
        return f"{self._prefix}:{owner}:{digest}"
