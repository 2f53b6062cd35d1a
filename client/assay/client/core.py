"""Send one chunk and return its answers: fail-over, retries, references by hash. Used by both clients.

Scoring has no side effects, so a failed request is sent again: to another URL at once, or to the same one after its
back-off. Each kind of fault has a limited number of tries; the deadline may end them earlier. A refusal (4xx) and an
answer that breaks the contract are never retried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from assay.client._oversized import oversized_result, too_large
from assay.client.answers import Answer, by_id, read_answers, read_line
from assay.client.deadline import Deadline
from assay.client.endpoints import Endpoint, Endpoints
from assay.client.errors import AssayError, Overloaded, ProtocolError, RequestRefused, ServiceUnavailable
from assay.client.items import Encoded
from assay.contract.codes import ErrorCode

SHARED_REFERENCE_BYTES = 4096
REFERENCE_TRIES = 3
"""After this many answers of `unknown_reference` (restart, eviction) an uploaded reference is sent inline."""


class StreamCut(ServiceUnavailable):
    """A stream ended before its last line."""


@dataclass(frozen=True, kw_only=True)
class RetryLimits:
    """How long the client retries a request; `share_references` uploads large references once."""

    unavailable_tries: int = 6
    unavailable_s: float = 30.0
    """Maximum number of seconds without an answer from any URL, whatever the number of tries."""
    overloaded_tries: int = 120
    share_references: bool = True


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """The items of one request, and the fields that apply to all of them."""

    items: Sequence[Encoded]
    deadline: Deadline
    defaults: bytes | None = None

    @property
    def ids(self) -> list[str]:
        """The ids in order."""
        return [item.id for item in self.items]

    def only(self, ids: set[str]) -> Chunk:
        """Return the same request with only some of its items."""
        return replace(self, items=[item for item in self.items if item.id in ids])

    def body(self, *, by_digest: frozenset[str] | set[str]) -> bytes:
        """Return a ScoreRequest as JSON. References with a digest in `by_digest` are sent as that digest."""
        # The digest requires a hash of each reference, so it is computed only if something is shared.
        named = [bool(by_digest) and item.digest in by_digest for item in self.items]
        items = b",".join(item.body(by_digest=by) for item, by in zip(self.items, named, strict=True))
        defaults = b',"defaults":%s' % self.defaults if self.defaults else b""
        left = self.deadline.remaining()
        deadline = b"" if left is None else b',"deadline_s":%.3f' % max(left, 0.001)
        return b'{"items":[%s]%s%s}' % (items, defaults, deadline)


class Core:
    """Sends chunks. Its only state is the endpoints."""

    def __init__(self, endpoints: Endpoints, limits: RetryLimits) -> None:
        self.endpoints = endpoints
        self._limits = limits

    async def score(self, chunk: Chunk) -> list[Answer]:
        """Return the answers in the order of the items. Raises `AssayError`."""
        try:
            return await self._score_whole(chunk)
        except RequestRefused as refusal:
            return await self._one_by_one(chunk, refusal)

    async def _one_by_one(self, chunk: Chunk, refusal: RequestRefused) -> list[Answer]:
        """Send the items of a request that was refused for its size one by one. Raises any other refusal."""
        if not too_large(refusal):
            raise refusal
        if len(chunk.items) == 1:
            return [oversized_result(chunk.items[0])]
        alone = [replace(chunk, items=[item]) for item in chunk.items]
        return [answer for one in alone for answer in await self.score(one)]

    async def _score_whole(self, chunk: Chunk) -> list[Answer]:
        found: dict[str, Answer] = {}
        missing = chunk
        for tries in range(REFERENCE_TRIES):
            answers = await self._score_once(missing, inline=tries == REFERENCE_TRIES - 1)
            found.update(answers)
            lost = {item.id for item in missing.items if _reference_lost(item, answers[item.id])}
            if not lost:
                break
            missing = missing.only(lost)
        return [found[name] for name in chunk.ids]

    async def stream(self, chunk: Chunk) -> AsyncIterator[Answer]:
        """Yield the answers as they are ready; items missing from a stream that was cut are requested again."""
        missing = set(chunk.ids)
        tries = Counter[type[AssayError]]()
        while missing:
            endpoint = await self.endpoints.ready(chunk.deadline)
            try:
                with endpoint.busy():
                    async for answer in self._stream_once(endpoint, chunk.only(missing)):
                        if answer.id not in missing:
                            raise ProtocolError("an id came back twice, or was never asked for")
                        missing.remove(answer.id)
                        yield answer
                endpoint.worked()
            except (Overloaded, ServiceUnavailable) as fault:
                self._back_off(fault, endpoint, tries)
            except RequestRefused as refusal:
                for answer in await self._one_by_one(chunk.only(missing), refusal):
                    yield answer
                return

    async def get(self, path: str, deadline: Deadline) -> bytes:
        """Return the body of a GET from the first endpoint that answers."""
        tries = Counter[type[AssayError]]()
        while True:
            endpoint = await self.endpoints.ready(deadline)
            try:
                return await deadline.bound(endpoint.transport.get(path))
            except (Overloaded, ServiceUnavailable) as fault:
                self._back_off(fault, endpoint, tries)

    async def _score_once(self, chunk: Chunk, *, inline: bool) -> dict[str, Answer]:
        tries = Counter[type[AssayError]]()
        while True:
            endpoint = await self.endpoints.ready(chunk.deadline)
            try:
                with endpoint.busy():
                    shared = set() if inline else await self._share(endpoint, chunk)
                    body = chunk.body(by_digest=shared)
                    call = endpoint.transport.score(body, timeout_s=None)
                    answers = by_id(read_answers(await chunk.deadline.bound(call)), chunk.ids)
            except (Overloaded, ServiceUnavailable) as fault:
                self._back_off(fault, endpoint, tries)
                continue
            endpoint.worked()
            for item in chunk.items:
                if _reference_lost(item, answers[item.id]):
                    endpoint.references.discard(item.digest)
            return answers

    async def _stream_once(self, endpoint: Endpoint, chunk: Chunk) -> AsyncIterator[Answer]:
        lines = endpoint.transport.stream(chunk.body(by_digest=frozenset()), timeout_s=None)
        count = 0
        while True:
            line = await chunk.deadline.bound(_next(lines))
            if line is None:
                raise StreamCut(f"the stream was cut after {count} of {len(chunk.items)} results")
            if not line.strip():
                continue
            answer = read_line(line)
            if isinstance(answer, Answer):
                count += 1
                yield answer
            elif answer != len(chunk.items) or count != answer:
                raise ProtocolError(f"{len(chunk.items)} results were asked for, {count} came")
            else:
                return

    async def _share(self, endpoint: Endpoint, chunk: Chunk) -> set[str]:
        """Upload large references that several items share, and return the digests that the endpoint has."""
        if not (self._limits.share_references and getattr(endpoint.transport, "shares_references", False)):
            return set()
        large = [item for item in chunk.items if len(item.reference or b"") > SHARED_REFERENCE_BYTES]
        uses = Counter(item.digest for item in large)
        shared = {item.digest: item for item in large if uses[item.digest] > 1 or item.digest in endpoint.references}
        for digest, item in shared.items():
            async with endpoint.uploading:
                if digest not in endpoint.references:
                    upload = endpoint.transport.put_reference(digest, item.reference or b"")
                    await chunk.deadline.bound(upload)
                    endpoint.references.add(digest)
        return set(shared)

    def _back_off(self, fault: AssayError, endpoint: Endpoint, tries: Counter[type[AssayError]]) -> None:
        """Back off the endpoint, or raise the fault if its tries are used up."""
        endpoint.failed(fault)
        kind = Overloaded if isinstance(fault, Overloaded) else ServiceUnavailable
        limit = self._limits.overloaded_tries if kind is Overloaded else self._limits.unavailable_tries
        tries[kind] += 1
        down = kind is ServiceUnavailable and self.endpoints.down_s() > self._limits.unavailable_s
        if tries[kind] >= limit or down:
            raise fault


def _reference_lost(item: Encoded, answer: Answer) -> bool:
    if item.reference is None or item.reference.startswith(b'{"$ref"'):
        return False
    return answer.error_code == ErrorCode.UNKNOWN_REFERENCE


async def _next(lines: AsyncIterator[bytes]) -> bytes | None:
    return await anext(lines, None)
