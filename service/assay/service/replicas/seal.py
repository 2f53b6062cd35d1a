"""Authenticated entries: version, MAC, payload. Only holders of the secret can make them.

The MAC covers the entry's kind and full name, so an entry that was changed, or moved to another name, is rejected. No
pickle: payloads are msgpack or bytes, and are decoded only after the MAC is verified.
"""

from __future__ import annotations

import hmac

VERSION = b"\x01"
_MAC = 32


class Seal:
    """Makes and verifies entries."""

    def __init__(self, secret: str) -> None:
        self._key = hmac.digest(secret.encode(), b"assay-redis-entries-1", "sha256")

    def close(self, kind: str, name: str, payload: bytes) -> bytes:
        """Return the entry."""
        return VERSION + self._mac(kind, name, payload) + payload

    def open(self, kind: str, name: str, entry: bytes) -> bytes | None:
        """Return the payload, or None if the entry fails verification."""
        if entry[:1] != VERSION or len(entry) < 1 + _MAC:
            return None
        mac, payload = entry[1 : 1 + _MAC], entry[1 + _MAC :]
        return payload if hmac.compare_digest(mac, self._mac(kind, name, payload)) else None

    def _mac(self, kind: str, name: str, payload: bytes) -> bytes:
        head = f"{kind}\0{name}\0".encode()
        return hmac.digest(self._key, head + payload, "sha256")
