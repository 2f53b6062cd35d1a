"""Invalidated verdicts: rules by item key, verifier and time, each for the verdicts of one owner.

A rule covers verdicts that were made up to `until`, so one that is computed again afterwards is kept.
"""

from __future__ import annotations

import time

from msgspec import Struct


class Rule(Struct, array_like=True, frozen=True):
    """Which verdicts are invalid. `verifier`: a name, or `name@version`; times in Unix seconds."""

    owner: str
    key: bytes = b""
    verifier: str = ""
    since: float = 0.0
    until: float = 0.0

    def covers(self, verdict: Made, key: bytes) -> bool:
        """Return whether a verdict is invalid."""
        return (
            self.owner == verdict.owner
            and self.key in (b"", key)
            and self.verifier in ("", verdict.verifier, verdict.verifier.partition("@")[0])
            and self.since <= verdict.at <= self.until
        )


class Made(Struct, array_like=True, frozen=True):
    """Whose verdict it is, by which verifier (`name@version`), and when it was made."""

    owner: str
    verifier: str
    at: float

    @classmethod
    def now(cls, owner: str, verifier: str) -> Made:
        """Return what is to be kept with a verdict that was made now."""
        return cls(owner, verifier, time.time())
