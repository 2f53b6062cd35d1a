"""HTTP transport: the client's only module that imports httpx.

A connection that cannot be made or is cut raises `ServiceUnavailable`; statuses become errors by `problems.error_of`.
Retries are made by `core`. `unix:/run/assay.sock` is HTTP over a Unix socket.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from pydantic import ValidationError

from assay.client.errors import AssayError, ConfigurationError, ServiceUnavailable
from assay.client.problems import error_of
from assay.client.tls import PathLike, TlsFiles
from assay.contract.envelope import Problem

CONNECT_S = 5.0
JSON = {"content-type": "application/json"}

IDLE_S = 4.0
"""Seconds after which an idle connection is not reused: servers close theirs after five seconds or more (uvicorn,
h11 proxies).
"""


class HttpTransport:
    """One service at one URL. The key is sent as a bearer token; default: `ASSAY_API_KEY`. For files see `tls`."""

    shares_references = True

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        ca_file: PathLike | None = None,
        client_cert: PathLike | None = None,
        client_key: PathLike | None = None,
        max_connections: int = 64,
    ) -> None:
        self._shown = re.sub(r"//[^/@]*@", "//", url)
        """The URL without the key that it may contain."""
        key = api_key or os.environ.get("ASSAY_API_KEY")
        limits = httpx.Limits(
            max_connections=max_connections, max_keepalive_connections=max_connections, keepalive_expiry=IDLE_S
        )
        socket = url.removeprefix("unix:").removeprefix("//") if url.startswith("unix:") else None
        tls = TlsFiles.of(ca_file, client_cert, client_key).context() if url.startswith("https:") else None
        try:
            self._client = httpx.AsyncClient(
                verify=tls or True,
                base_url="http://localhost" if socket else url.rstrip("/"),
                headers={"authorization": f"Bearer {key}"} if key else {},
                timeout=httpx.Timeout(None, connect=CONNECT_S),
                transport=httpx.AsyncHTTPTransport(uds=socket, limits=limits) if socket else None,
                limits=limits,
            )
            if (self._client.base_url.port or 0) > 65535:
                raise ValueError("a port must be at most 65535")
        except (httpx.InvalidURL, ValueError) as error:
            raise ConfigurationError(f"invalid URL: {error}") from error

    async def score(self, body: bytes, *, timeout_s: float | None) -> bytes:
        """POST /v1/score and return the response body."""
        return await self._call("POST", "/v1/score", content=body, headers=JSON, timeout_s=timeout_s)

    async def stream(self, body: bytes, *, timeout_s: float | None) -> AsyncIterator[bytes]:
        """POST /v1/score/stream and yield the lines."""
        timeout = httpx.Timeout(timeout_s, connect=CONNECT_S)
        try:
            request = self._client.stream("POST", "/v1/score/stream", content=body, headers=JSON, timeout=timeout)
            async with request as response:
                if response.status_code != httpx.codes.OK:
                    raise _fault(response.status_code, response.headers, await response.aread())
                rest = b""
                async for piece in response.aiter_bytes():
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in lines:
                        yield line
                if rest:
                    yield rest
        except httpx.HTTPError as error:
            raise _broken(self._shown, error) from error

    async def put_reference(self, digest: str, body: bytes) -> None:
        """PUT /v1/references/{digest}."""
        await self._call("PUT", f"/v1/references/{digest}", content=body, headers=JSON)

    async def get(self, path: str) -> bytes:
        """GET `path` and return the response body."""
        return await self._call("GET", path)

    async def post(self, path: str, body: bytes) -> bytes:
        """POST JSON to `path` and return the response body."""
        return await self._call("POST", path, content=body, headers=JSON)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _call(self, method: str, path: str, *, timeout_s: float | None = None, **more: Any) -> bytes:
        timeout = httpx.Timeout(timeout_s, connect=CONNECT_S)
        try:
            response = await self._client.request(method, path, timeout=timeout, **more)
        except httpx.HTTPError as error:
            raise _broken(self._shown, error) from error
        except httpx.InvalidURL as error:
            raise ConfigurationError(f"invalid URL: {error}") from error
        if not response.is_success:
            raise _fault(response.status_code, response.headers, response.content)
        return response.content


def _broken(url: str, error: httpx.HTTPError) -> AssayError:
    if isinstance(error, httpx.UnsupportedProtocol):
        return ConfigurationError(str(error))
    return ServiceUnavailable(f"no answer from {url}: {type(error).__name__}: {error}")


def _fault(status: int, headers: Mapping[str, str], body: bytes) -> AssayError:
    return error_of(_problem(status, body), retry_after_s=_retry_after(headers.get("retry-after")))


def _problem(status: int, body: bytes) -> Problem:
    try:
        return Problem.model_validate_json(body).model_copy(update={"status": status})
    except ValidationError:
        return Problem(type="about:blank", title=httpx.codes.get_reason_phrase(status), status=status)


def _retry_after(value: str | None) -> float | None:
    """Return the seconds in a Retry-After header: a number, or a date (RFC 9110, 10.2.3)."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
