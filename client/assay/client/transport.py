"""The protocol of transports, and their lookup by URL scheme.

`http`, `https` and `unix` are built in. Others come from the entry-point group `assay.transports` (name = scheme; the
factory is called with `(url, **options)`), so the client never imports the service. Bodies are JSON bytes in the
contract's form; a transport neither parses nor changes them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from assay.client.errors import ConfigurationError

GROUP = "assay.transports"
EXTRAS = {"embedded": "assay[verify]", "grpc": "assay[service]"}
"""The extra that provides a scheme that is not built in."""
MINIMUM_PYTHON = {"embedded": (3, 12)}
"""Schemes whose transport runs the service's code, which an older Python cannot import."""


class Transport(Protocol):
    """A connection to one engine. Raises `Overloaded`, `ServiceUnavailable`, `RequestRefused`, `ProtocolError`."""

    async def score(self, body: bytes, *, timeout_s: float | None) -> bytes:
        """Send a JSON ScoreRequest and return a JSON ScoreResponse; `timeout_s` in wall seconds."""
        ...

    def stream(self, body: bytes, *, timeout_s: float | None) -> AsyncIterator[bytes]:
        """Send a JSON ScoreRequest and yield NDJSON lines: results as they are ready, then the `done` line."""
        ...

    async def put_reference(self, digest: str, body: bytes) -> None:
        """Upload a reference's JSON; `digest` is the SHA-256 of `body` in hex."""
        ...

    async def get(self, path: str) -> bytes:
        """Return the JSON at `/v1/verifiers`, `/v1/isolation` or `/healthz`."""
        ...

    async def aclose(self) -> None:
        """Close connections and processes."""
        ...


def open_transport(url: str, **options: Any) -> Transport:
    """Return the transport for `url`. Raises `ConfigurationError` if no transport supports its scheme."""
    scheme, colon, _ = url.partition(":")
    if not colon:
        raise ConfigurationError(f"a URL needs a scheme, such as http://… or embedded: (got {url!r})")
    if re.fullmatch(r"[\w.-]+:\d+(/.*)?", url):
        raise ConfigurationError(f"a URL needs a scheme: did you mean http://{url}?")
    if scheme in ("http", "https", "unix"):
        from assay.client.http_transport import HttpTransport

        return _made(HttpTransport, url, scheme, options)
    factory = _plugged(scheme)
    if options.get("api_key") is None:
        options.pop("api_key", None)
    return _made(factory, url, scheme, options)


def _made(factory: Any, url: str, scheme: str, options: dict[str, Any]) -> Transport:
    try:
        return cast(Transport, factory(url, **options))
    except TypeError as error:
        raise ConfigurationError(f"the transport for {scheme}: {error}") from error


def _plugged(scheme: str) -> Any:
    if sys.version_info < MINIMUM_PYTHON.get(scheme, (3, 10)):
        raise ConfigurationError(_advice(scheme, f"cannot run on Python {sys.version.split()[0]}"))
    for entry in entry_points(group=GROUP, name=scheme):
        try:
            return entry.load()
        except ImportError as error:
            raise ConfigurationError(_advice(scheme, f"cannot be loaded ({error})")) from error
    raise ConfigurationError(_advice(scheme, "is not installed"))


def _advice(scheme: str, state: str) -> str:
    extra = EXTRAS.get(scheme)
    advice = f"; install {extra} (Python >= 3.12), or give the URL of a running service" if extra else ""
    return f"the transport for {scheme}: {state}{advice}"
