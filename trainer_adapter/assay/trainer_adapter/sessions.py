"""One client per process and target, shared by all reward functions with the same target.

Two rewards on `embedded:` share one engine, and a trainer that creates a new event loop for every call keeps its
connections, because the client runs on its own loop. After a fork, and in a process that unpickled a reward, the first
call opens a new client.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.client import Client, ConfigurationError

_lock = threading.Lock()
_open: dict[tuple[Any, ...], Client] = {}


@dataclass(frozen=True)
class Target:
    """Where the engine is: URLs, key and further options of the client. Picklable."""

    urls: tuple[str, ...]
    api_key: str | None = field(default=None, repr=False)
    options: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, url: str | Sequence[str] | Client, *, api_key: str | None, **options: Any) -> Target | Client:
        """Return the target. A client of the caller's own is returned unchanged."""
        if isinstance(url, Client):
            return url
        urls = (url,) if isinstance(url, str) else tuple(url)
        frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
        for name, value in frozen.items():
            if getattr(value, "__hash__", None) is None:
                raise ConfigurationError(f"not a valid option of the client: {name} (a {type(value).__name__})")
        return cls(urls, api_key, tuple(sorted(frozen.items())))

    def client(self) -> Client:
        """Return this process's client."""
        key = (os.getpid(), self.urls, self.api_key, self.options)
        with _lock:
            if key not in _open:
                _open[key] = Client(list(self.urls), api_key=self.api_key, **dict(self.options))
            return _open[key]


def close_all() -> None:
    """Close all clients of this process: connections, embedded engines, threads."""
    with _lock:
        mine = [_open.pop(key) for key in list(_open) if key[0] == os.getpid()]
    for client in mine:
        client.close()
