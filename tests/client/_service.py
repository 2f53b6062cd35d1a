"""A small real HTTP service: uvicorn in a thread with the exact verifier, and scripted faults."""

import asyncio
import hashlib
import json
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from pydantic import ValidationError

from assay.contract.references.exact import ExactReference
from assay.contract.result import outcome_of
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import NoVerdict
from assay.verifiers.exact import ExactVerifier

Send = Callable[[dict[str, Any]], Awaitable[None]]
EXACT = ExactVerifier()


def judge(item: dict[str, Any]) -> dict[str, Any]:
    base = {
        "id": item["id"],
        "verifier": "exact@1",
        "flags": [],
        "timing": {"queue_ms": 0, "run_ms": 1.5, "cpu_ms": 1},
    }
    try:
        spec = EXACT.prepare(ExactReference.model_validate(item["reference"]))
        explain = (item.get("options") or {}).get("explain", False)
        said = EXACT.verify(spec, Candidate.of(item["completion"], explain=explain))
    except (NoVerdict, ValidationError, KeyError):
        error = {"code": "invalid_reference", "message": "refused", "retryable": False, "field": "gold"}
        return base | {
            "reward": None,
            "score": None,
            "outcome": "no_verdict",
            "reason": "invalid_reference",
            "error": error,
        }
    outcome = outcome_of(reward=said.reward, score=said.score).value
    told = {"explanation": said.explanation} if explain else {}
    return (
        base
        | told
        | {
            "reward": said.reward,
            "score": said.score,
            "outcome": outcome,
            "reason": said.reason,
            "extracted": said.extracted,
            "span": said.span,
            "message": said.message,
        }
    )


def null(item: dict[str, Any], code: str) -> dict[str, Any]:
    error = {"code": code, "message": "later", "retryable": True}
    return {
        "id": item["id"],
        "reward": None,
        "score": None,
        "outcome": "no_verdict",
        "reason": code,
        "error": error,
        "verifier": "exact@1",
    }


class Service:
    """Answers like the real service. `script` lists faults for the next requests; `requests` records bodies."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.script: deque[Any] = deque()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.references: dict[str, Any] = {}
        self.uploads = 0
        self.busy = self.most = 0
        self.delay_s = 0.0
        self.version = 1

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        path = scope["path"]
        if scope["method"] == "PUT":
            digest = path.rsplit("/", 1)[1]
            assert digest == hashlib.sha256(body).hexdigest()
            self.references[digest] = json.loads(body)
            self.uploads += 1
            await respond(send, 204, b"")
        elif path == "/v1/verifiers":
            info = {
                "name": "exact",
                "version": self.version,
                "reads": ["completion"],
                "sandboxed": False,
                "reference": {},
            }
            await respond(send, 200, json.dumps({"verifiers": [info]}).encode())
        elif path.startswith("/v1/score"):
            await self._score(path, json.loads(body), send)
        else:
            await respond(send, 404, b"{}")

    async def _score(self, path: str, request: dict[str, Any], send: Send) -> None:
        self.requests.append(request)
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await asyncio.sleep(self.delay_s)
            fault = self.script.popleft() if self.script else None
            if callable(fault):
                results = [fault(item) for item in request["items"]]
            elif fault is not None:
                await fault_response(fault, send)
                return
            else:
                results = [self._judge(request.get("defaults", {}) | item) for item in request["items"]]
            if path.endswith("/stream"):
                lines = [json.dumps(result) for result in reversed(results)]
                lines.append(json.dumps({"done": True, "count": len(results)}))
                await respond(send, 200, "\n".join(lines).encode())
            else:
                await respond(send, 200, json.dumps({"results": results}).encode())
        finally:
            self.busy -= 1

    def _judge(self, item: dict[str, Any]) -> dict[str, Any]:
        named = item["reference"].get("$ref") if isinstance(item.get("reference"), dict) else None
        if named is None:
            return judge(item)
        digest = named.removeprefix("sha256:")
        if digest not in self.references:
            return null(item, "unknown_reference")
        return judge(item | {"reference": self.references[digest]})


async def respond(send: Send, status: int, body: bytes, **headers: str) -> None:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


async def fault_response(fault: Any, send: Send) -> None:
    """A status, (status, headers, problem), "cut" in mid-body, or raw bytes as the body."""
    if isinstance(fault, int):
        await respond(send, fault, b'{"type":"about:blank","title":"fault","status":%d}' % fault)
    elif isinstance(fault, tuple):
        status, headers, problem = fault
        await respond(send, status, json.dumps(problem).encode(), **headers)
    elif isinstance(fault, bytes):
        await respond(send, 200, fault)
    else:
        start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000000")]}
        await send(start)
        await send({"type": "http.response.body", "body": b'{"results":[', "more_body": True})
        raise ConnectionResetError("cut by the test")


class Running:
    """A running service on its own port."""

    def __init__(self, service: Service, port: int = 0) -> None:
        self.service = service
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(service, log_level="critical", lifespan="off", ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)
        self.thread.start()
        while not self.server.started:
            threading.Event().wait(0.01)

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()
        self.socket.close()
