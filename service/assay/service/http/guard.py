"""Access checks of the HTTP service, as ASGI middleware: Host, Origin, content type, size, key.

Loopback is not trusted either: a page in the user's browser can post to 127.0.0.1, or reach it under a domain of its
own (DNS rebinding). So the Host must be a known one, a POST from another origin is refused, and bodies must be JSON or
msgpack, which a plain form cannot send. The body is bounded while it is read, whatever Content-Length says, and so are
all bodies together (`bodies`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.contract.codes import ProblemCode
from assay.service.auth import KeyRing, Unauthorized
from assay.service.engine.intake.frames import json_of
from assay.service.engine.schedule.shares import FairBudget
from assay.service.http.bodies import Held, NoRoom
from assay.service.http.problems import problem
from assay.service.settings import LOOPBACK, Settings

BODY_TYPES = ("application/json", "application/msgpack", "application/x-msgpack")
OPEN_PATHS = frozenset({"/healthz", "/readyz"})


class Refusal(Exception):
    """A request that is refused before it reaches a route."""

    def __init__(self, status: int, code: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.document = problem(status, code, detail, **more)


class Guard:
    """Passes accepted requests on, with `scope["assay.owner"]` set."""

    def __init__(self, app: ASGIApp, *, settings: Settings, keys: KeyRing, budget: FairBudget) -> None:
        self._app = app
        self._keys = keys
        self._budget = budget
        self._limit = settings.limits.body_bytes
        self._any_host = not settings.loopback and not settings.allowed_hosts
        self._hosts = {*LOOPBACK, settings.host, *settings.allowed_hosts}
        self._origins = frozenset(settings.allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and pass it on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._check(scope, headers)
        except Refusal as refusal:
            await _refuse(send, refusal.document)
            return
        if (connection := scope.get("assay.connection")) is not None and scope["path"] not in OPEN_PATHS:
            connection.known = True
        await self._bounded(scope, receive, send)

    def _check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        self._check_host(headers.get("host", ""))
        if scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
            self._check_origin(headers)
            self._check_type(headers.get("content-type", ""))
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > self._limit:
            raise _too_large(self._limit)
        try:
            open_path = scope["path"] in OPEN_PATHS
            scope["assay.owner"] = "" if open_path else self._keys.owner(headers.get("authorization"))
        except Unauthorized as error:
            raise Refusal(401, ProblemCode.UNAUTHORIZED, str(error)) from None

    def _check_host(self, host: str) -> None:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if not self._any_host and name.strip("[]").lower() not in self._hosts:
            raise Refusal(
                421, ProblemCode.UNKNOWN_HOST, "this Host is not allowed (setting allowed_hosts)", field="Host"
            )

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "none")
        if origin is None and site in ("none", "same-origin"):
            return
        own = f"http://{headers.get('host', '')}"
        if origin not in self._origins and origin not in (own, own.replace("http:", "https:")):
            raise Refusal(
                403, ProblemCode.FOREIGN_ORIGIN, "this origin is not allowed (setting allowed_origins)", field="Origin"
            )

    def _check_type(self, value: str) -> None:
        if value.partition(";")[0].strip().lower() not in BODY_TYPES:
            raise Refusal(
                415, ProblemCode.UNSUPPORTED_MEDIA_TYPE, f"must be one of {', '.join(BODY_TYPES)}", field="Content-Type"
            )

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen, started = 0, False
        held = Held(self._budget, scope["assay.owner"])

        async def bounded() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limit:
                raise _too_large(self._limit)
            held.grow(seen)
            return message

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            held.grow(_declared(scope))
            await self._app(scope, bounded, noting)
        except (Refusal, NoRoom) as refusal:
            if not started:
                await _refuse(send, refusal.document)
        finally:
            held.release()


def _declared(scope: Scope) -> int:
    """Return the request's Content-Length, or 0."""
    length = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(length) if length.isdigit() else 0


def _too_large(limit: int) -> Refusal:
    return Refusal(413, ProblemCode.TOO_LARGE, f"the body exceeds {limit} bytes", field="body", limit=limit)


async def _refuse(send: Send, document: Mapping[str, Any]) -> None:
    headers = [(b"content-type", b"application/problem+json")]
    if document["status"] == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if "retry_after_s" in document:
        headers.append((b"retry-after", str(document["retry_after_s"]).encode()))
    await send({"type": "http.response.start", "status": document["status"], "headers": headers})
    await send({"type": "http.response.body", "body": json_of(document)})
