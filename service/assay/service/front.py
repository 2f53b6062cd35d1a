"""The front: the byte-level interface to the engine that HTTP, gRPC and the embedded transport share.

A caller whose task is cancelled cancels its submission, down to the lanes.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from assay.contract.codes import ITEM_FAULTS, ProblemCode
from assay.service.engine.engine import Engine
from assay.service.engine.errors import EnvelopeFault, FaultyItem, ItemsRefused
from assay.service.engine.intake.frames import json_of
from assay.service.engine.intake.work import Batch
from assay.service.engine.render import (
    ResultFrame,
    line_json,
    response_json,
    response_msgpack,
    result_frame,
)
from assay.service.engine.schedule.invalidation import Rule
from assay.service.engine.schedule.tickets import Submission
from assay.service.offload.orders import Encoding
from assay.service.offload.readers import OFFLOAD_BYTES, Readers

if TYPE_CHECKING:
    from assay.service.replicas.share import Share

PRIVATE = frozenset({"cpu_s", "may_sandbox", "repeatable"})
"""Facts about a verifier that only the engine needs; `/v1/verifiers` leaves them out."""
Observe = Callable[[list[ResultFrame]], None]


@dataclass(frozen=True, kw_only=True)
class Front:
    """The engine with bytes in and bytes out.

    `observe` gets every returned result, for metrics. `share` is the shared state of replicas, if there is one;
    `readers` read large bodies outside this process.
    """

    engine: Engine
    observe: Observe | None = None
    share: Share | None = None
    readers: Readers | None = None

    async def score_json(self, body: bytes, *, owner: str = "", strict: bool = False) -> bytes:
        """Score a JSON ScoreRequest and return a JSON ScoreResponse.

        Raises `EngineError`; with `strict`, `ItemsRefused` if an item is faulty.
        """
        started = time.perf_counter()
        submission = await self.submit_body(body, owner=owner)
        frames = await self._finish(submission, strict=strict)
        return response_json(frames, wall_ms=(time.perf_counter() - started) * 1000)

    async def score_msgpack(self, body: bytes, *, owner: str = "", strict: bool = False) -> bytes:
        """Score a msgpack ScoreRequest, references, messages and state being JSON in `bin`; else like `score_json`."""
        started = time.perf_counter()
        submission = await self.submit_body(body, owner=owner, packed=True)
        frames = await self._finish(submission, strict=strict)
        return response_msgpack(frames, wall_ms=(time.perf_counter() - started) * 1000)

    async def _finish(self, submission: Submission, *, strict: bool) -> list[ResultFrame]:
        await self.wait_for_results(submission)
        frames = self.frames(submission, range(len(submission.results)))
        if strict:
            _refuse_faults(frames)
        return frames

    async def wait_for_results(self, submission: Submission) -> None:
        """Wait for all results. If the caller is cancelled, the submission is cancelled."""
        try:
            await submission.done()
        except BaseException:
            self.engine.cancel(submission)
            raise

    async def arrivals(self, submission: Submission) -> AsyncIterator[list[int]]:
        """Yield the indices of results that are ready together, until all are. Cancel the rest if the caller leaves."""
        count, total = 0, len(submission.results)
        try:
            while count < total:
                ready = await submission.arrivals()
                count += len(ready)
                yield ready
        finally:
            if count < total:
                self.engine.cancel(submission)

    def frames(self, submission: Submission, indices: Sequence[int]) -> list[ResultFrame]:
        """Return settled results, after passing them to `observe`."""
        frames = [result_frame(submission, index) for index in indices]
        if self.observe is not None:
            self.observe(frames)
        return frames

    async def submit_body(self, body: bytes, *, owner: str = "", packed: bool = False) -> Submission:
        """Submit a ScoreRequest in JSON or msgpack; a large one is read outside this process. Raises `EngineError`."""
        intake = self.engine.intake
        read = intake.read_msgpack if packed else intake.read_json
        encoding = Encoding.MSGPACK if packed else Encoding.JSON
        return await self.submit_batch(encoding, body, lambda: read(body, owner=owner), owner=owner)

    async def submit_batch(
        self, encoding: Encoding, body: bytes, read: Callable[[], Batch], *, owner: str, left_s: float | None = None
    ) -> Submission:
        """Submit the batch that `read` returns here, or a reader process for a large body. Raises `EngineError`."""

        async def batch() -> Batch:
            if self.readers is None or len(body) < OFFLOAD_BYTES:
                return read()
            return await self.readers.read(encoding, body, owner=owner, left_s=left_s)

        if self.share is None:
            return self.engine.submit(await batch())
        return await self.share.submit(await self.share.read(batch, owner))

    async def stream(self, submission: Submission) -> AsyncIterator[bytes]:
        """Yield NDJSON: each result as it is ready, groups together, then the `done` line."""
        count = 0
        async for ready in self.arrivals(submission):
            count += len(ready)
            yield b"".join(map(line_json, self.frames(submission, ready)))
        yield json_of({"done": True, "count": count}) + b"\n"

    def put_reference(self, digest: str, body: bytes, *, owner: str = "") -> None:
        """Keep an uploaded reference. Raises `EnvelopeFault`."""
        if not body.lstrip().startswith(b"{"):
            raise EnvelopeFault(ProblemCode.INVALID_REFERENCE, "the body is not a JSON object", field="reference")
        self.engine.references.put(owner, digest, body)
        if self.share is not None:
            self.share.reference(owner, digest, body)

    async def invalidate(self, body: bytes, *, owner: str) -> bytes:
        """Drop verdicts of an owner by item key, verifier and time, in memory and on all replicas. Raises
        `EnvelopeFault`.
        """
        rule = rule_of(body, owner=owner)
        dropped, told = (
            (self.engine.invalidate(rule), True) if self.share is None else await self.share.invalidate(rule)
        )
        return json_of({"dropped": dropped, "replicas_told": told})

    def verifiers(self) -> bytes:
        """Return the available verifiers with the JSON schema of each one's reference, as JSON."""
        public = [{key: entry[key] for key in entry if key not in PRIVATE} for entry in self.engine.descriptions]
        return json_of({"verifiers": public})


def _refuse_faults(frames: list[ResultFrame]) -> None:
    faults = [
        FaultyItem(frame.id, frame.reason, frame.error.field)
        for frame in frames
        if frame.error is not None and frame.error.code in ITEM_FAULTS
    ]
    if faults:
        raise ItemsRefused(faults)


class _Invalidation(msgspec.Struct, forbid_unknown_fields=True):
    item_key: str | None = None
    verifier: str | None = None
    since: float = 0.0
    until: float | None = None


def rule_of(body: bytes, *, owner: str) -> Rule:
    """Return the rule that a request describes. Raises `EnvelopeFault`."""
    try:
        asked = msgspec.json.decode(body, type=_Invalidation)
        key = bytes.fromhex(asked.item_key or "")
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise EnvelopeFault(
            ProblemCode.INVALID_BODY, "an object of item_key, verifier, since, until", status=400
        ) from None
    except ValueError:
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "item_key: must be hexadecimal", field="item_key") from None
    if not body.strip(b" \t\r\n{}"):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "one of item_key, verifier, since, until is needed")
    now = time.time()
    until = now if asked.until is None else min(asked.until, now)
    return Rule(owner, key, asked.verifier or "", asked.since, until)
