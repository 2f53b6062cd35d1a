"""The front's side of the reader processes: a few, started when first needed, replaced when they end.

One owner uses all but one of them, so that its large bodies never stop those of others. A body that takes longer than
`LONGEST_S` is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys

import msgspec

from assay.contract.codes import ProblemCode
from assay.service.engine.engine import Engine
from assay.service.engine.errors import EngineUnavailable, EnvelopeFault
from assay.service.engine.intake.work import Batch, Refused
from assay.service.offload.orders import LENGTH, Answer, Encoding, Facts, Order

OFFLOAD_BYTES = 128 * 1024
"""Bodies from this size on are read in a reader process."""
PROCESSES = 2
LONGEST_S = 30.0
TRIES = 3
_KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "TZ")


class Gone(Exception):
    """The reader process has ended."""


class _Reader:
    """One process and its socket."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {name: os.environ[name] for name in _KEPT if name in os.environ}
        command = [sys.executable, "-P", "-m", "assay.service.offload.reader", str(theirs.fileno())]
        with theirs:
            self.process = subprocess.Popen(
                command,
                env=environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        ours.setblocking(False)
        self._socket = ours

    async def read(self, message: bytes) -> Answer:
        """Send an order and return the answer. Raises `Gone`."""
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._socket, LENGTH.pack(len(message)))
            await loop.sock_sendall(self._socket, message)
            size = LENGTH.unpack(await self._exactly(LENGTH.size))[0]
            return msgspec.msgpack.decode(await self._exactly(size), type=Answer)
        except OSError:
            raise Gone from None

    async def _exactly(self, size: int) -> bytearray:
        loop, buffer, at = asyncio.get_running_loop(), bytearray(size), 0
        view = memoryview(buffer)
        while at < size:
            count = await loop.sock_recv_into(self._socket, view[at:])
            if not count:
                raise Gone
            at += count
        return buffer

    def end(self) -> None:
        """End the process."""
        self._socket.close()
        self.process.kill()
        self.process.wait()


class Readers:
    """Reads large bodies for one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: list[_Reader] = []
        self._room = asyncio.Semaphore(PROCESSES)
        self._by_owner: dict[str, asyncio.Semaphore] = {}
        self._all: set[_Reader] = set()
        self.restarts = 0
        """Readers that ended in the middle of a body."""

    async def read(self, encoding: Encoding, body: bytes, *, owner: str, left_s: float | None = None) -> Batch:
        """Return a body as a batch. Raises `EnvelopeFault`, `EngineUnavailable`."""
        references: dict[str, bytes] = {}
        async with self._by_owner.setdefault(owner, asyncio.Semaphore(PROCESSES - 1)), self._room:
            batch = await self._ask(encoding, body, owner, references, left_s)
            if wanted := self._uploaded(batch, owner):
                batch = await self._ask(encoding, body, owner, wanted, left_s)
        return batch

    def _uploaded(self, batch: Batch, owner: str) -> dict[str, bytes]:
        """Return the references that items name and this process has."""
        digests = {entry.digest for entry in batch.entries if isinstance(entry, Refused) and entry.digest}
        found = {digest: self._engine.references.get(owner, digest) for digest in digests}
        return {digest: body for digest, body in found.items() if body is not None}

    async def _ask(
        self, encoding: Encoding, body: bytes, owner: str, references: dict[str, bytes], left_s: float | None
    ) -> Batch:
        engine, fingerprint = self._engine, self._engine.sandbox.fingerprint
        catalogue = [Facts.of(facts) for facts in engine.catalogue.values()]
        order = Order(encoding, body, owner, catalogue, engine.settings.limits, references, fingerprint, left_s)
        message = msgspec.msgpack.encode(order)
        for _ in range(TRIES):
            try:
                answer = await self._once(message)
                return answer.batch(engine.catalogue, owner=owner, fingerprint=fingerprint)
            except Gone:
                self.restarts += 1
        raise EngineUnavailable("the process that reads large bodies ends again and again")

    async def _once(self, message: bytes) -> Answer:
        reader = self._idle.pop() if self._idle else await self._start()
        try:
            async with asyncio.timeout(LONGEST_S):
                answer = await reader.read(message)
        except TimeoutError:
            self._end(reader)
            detail = "body: reading it takes too long; send fewer items at once"
            raise EnvelopeFault(ProblemCode.TOO_LARGE, detail, status=413, field="body") from None
        except BaseException:
            self._end(reader)
            raise
        if reader.process.poll() is None:
            self._idle.append(reader)
        else:
            self._end(reader)
        return answer

    async def _start(self) -> _Reader:
        try:
            reader = await asyncio.to_thread(_Reader)
        except OSError as error:
            raise EngineUnavailable(f"no process to read large bodies: {error.strerror}") from None
        self._all.add(reader)
        return reader

    def _end(self, reader: _Reader) -> None:
        self._all.discard(reader)
        with contextlib.suppress(OSError):
            reader.end()

    def close(self) -> None:
        """End all processes."""
        for reader in list(self._all):
            self._end(reader)
        self._idle.clear()
