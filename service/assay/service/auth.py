"""Authentication: bearer keys, compared as hashes in constant time. Several may be valid; a reload rotates them.

The owner of a request is a short hash of its key; caches, references and single flights are scoped by owner. Without
keys (loopback only) everybody is the owner "".
"""

from __future__ import annotations

import hmac
from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from assay.service.settings import Settings, hashed


class Unauthorized(Exception):
    """The request has no key, or an unknown one."""


class NoKeys(ValueError):
    """Keys are required, but there is none."""


class KeyRing:
    """The currently valid keys."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._hashes: tuple[str, ...] = ()
        self.reload()

    def reload(self) -> None:
        """Read the keys again. Raises `OSError` or `NoKeys` if the file cannot be used; the old keys then stay
        valid.
        """
        plain = [hashed(key.get_secret_value()) for key in self._settings.keys]
        hashes = tuple(dict.fromkeys([*plain, *_hashes(self._settings.key_file)]))
        if not hashes and not self.open:
            raise NoKeys("key_file contains no key")
        self._hashes = hashes

    @property
    def open(self) -> bool:
        """Whether no key is required: only if the settings name neither keys nor a key file."""
        return not self._settings.keys and self._settings.key_file is None

    def owner(self, authorization: str | None) -> str:
        """Return the owner for a request's Authorization header. Raises `Unauthorized`."""
        if self.open:
            return ""
        key = _key(authorization or "")
        if not key:
            raise Unauthorized("a key is required: Authorization: Bearer KEY")
        digest = sha256(key.strip().encode()).hexdigest()
        matches = [hmac.compare_digest(digest, known) for known in self._hashes]
        if not any(matches):
            raise Unauthorized("unknown key")
        return digest[:16]


def _key(authorization: str) -> str:
    """Return the key: a bearer token, or the password of basic credentials (which `http://:KEY@host` sends)."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            return b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return value if scheme.lower() == "bearer" else ""


def _hashes(path: Path | None) -> Iterator[str]:
    """Yield the hashes of a file's keys. Raises `OSError`, and `NoKeys` naming the line of what is no key."""
    if path is None:
        return
    try:
        lines = path.read_text("utf-8").split("\n")
    except UnicodeDecodeError:
        raise NoKeys("key_file is not a text file") from None
    for number, line in enumerate(lines, 1):
        key = line.strip(" \t\r")
        if key and not key.startswith("#"):
            try:
                yield hashed(key)
            except ValueError as error:
                raise NoKeys(f"key_file, line {number}: {error}") from None
