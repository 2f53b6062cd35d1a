"""One chunk to one verdict each: fail-over, retries, references by hash. Async; both faces stand on it.

Scoring is pure, so what failed is simply sent again: to another URL at once, or to the same one when it
has rested. Patience is a number of tries per kind of fault; the deadline ends it earlier. A refusal
(4xx) and an answer that breaks the contract are never retried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from assay.client._oversized import settled, too_large
from assay.client.answers import Answer, by_id, read_answers, read_line
from assay.client.deadline import Deadline
from assay.client.endpoints import Endpoint, Endpoints
from assay.client.errors import AssayError, Overloaded, ProtocolError, RequestRefused, ServiceUnavailable
from assay.client.items import Encoded
from assay.contract.codes import ErrorCode

SHARED_REFERENCE_BYTES = 4096
REFERENCE_TRIES = 3
"""An uploaded reference may be forgotten (restart, eviction); after this many answers it travels inline."""


class Cut(ServiceUnavailable):
    """A stream ended before its last line."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How long the client bears with a service; `share_references` uploads large ones once."""

    unavailable_tries: int = 6
    unavailable_s: float = 30.0
    """Seconds for which no URL has given an answer, whatever the number of tries."""
    overloaded_tries: int = 120
    share_references: bool = True


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Items of one request, and what goes with all of them."""

    items: Sequence[Encoded]
    deadline: Deadline
    defaults: bytes | None = None

    @property
    def ids(self) -> list[str]:
        """Ids in order."""
        return [item.id for item in self.items]

    def only(self, ids: set[str]) -> Chunk:
        """The same request for some of its items."""
        return replace(self, items=[item for item in self.items if item.id in ids])

    def body(self, *, by_digest: frozenset[str] | set[str]) -> bytes:
        """A ScoreRequest; references whose digest is in `by_digest` are named by it."""
        # The digest costs a hash of each reference: it is not asked for where nothing is shared.
        named = [bool(by_digest) and item.digest in by_digest for item in self.items]
        items = b",".join(item.body(by_digest=by) for item, by in zip(self.items, named, strict=True))
        defaults = b',"defaults":%s' % self.defaults if self.defaults else b""
        left = self.deadline.remaining()
        deadline = b"" if left is None else b',"deadline_s":%.3f' % max(left, 0.001)
        return b'{"items":[%s]%s%s}' % (items, defaults, deadline)


class Core:
    """Sends chunks. Holds no state but the endpoints."""

    def __init__(self, endpoints: Endpoints, policy: Policy) -> None:
        self.endpoints = endpoints
        self._policy = policy

    async def score(self, chunk: Chunk) -> list[Answer]:
        """Return the answers, in the order of the items. Raises AssayError."""
        try:
            return await self._score_whole(chunk)
        except RequestRefused as refusal:
            return await self._one_by_one(chunk, refusal)

    async def _one_by_one(self, chunk: Chunk, refusal: RequestRefused) -> list[Answer]:
        """Send the items of a request that was refused for its size alone. Raises any other refusal."""
        if not too_large(refusal):
            raise refusal
        if len(chunk.items) == 1:
            return [settled(chunk.items[0])]
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
        """The answers as they are ready; what a cut stream left out is asked for again."""
        missing = set(chunk.ids)
        patience = Counter[type[AssayError]]()
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
                self._bear(fault, endpoint, patience)
            except RequestRefused as refusal:
                for answer in await self._one_by_one(chunk.only(missing), refusal):
                    yield answer
                return

    async def get(self, path: str, deadline: Deadline) -> bytes:
        """GET from the first endpoint that answers."""
        patience = Counter[type[AssayError]]()
        while True:
            endpoint = await self.endpoints.ready(deadline)
            try:
                return await deadline.bound(endpoint.transport.get(path))
            except (Overloaded, ServiceUnavailable) as fault:
                self._bear(fault, endpoint, patience)

    async def _score_once(self, chunk: Chunk, *, inline: bool) -> dict[str, Answer]:
        patience = Counter[type[AssayError]]()
        while True:
            endpoint = await self.endpoints.ready(chunk.deadline)
            try:
                with endpoint.busy():
                    shared = set() if inline else await self._share(endpoint, chunk)
                    body = chunk.body(by_digest=shared)
                    call = endpoint.transport.score(body, timeout_s=None)
                    answers = by_id(read_answers(await chunk.deadline.bound(call)), chunk.ids)
            except (Overloaded, ServiceUnavailable) as fault:
                self._bear(fault, endpoint, patience)
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
                raise Cut(f"the stream was cut after {count} of {len(chunk.items)} results")
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
        """Upload large references that several items share; digests of those that are there."""
        if not (self._policy.share_references and getattr(endpoint.transport, "shares_references", False)):
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

    def _bear(self, fault: AssayError, endpoint: Endpoint, patience: Counter[type[AssayError]]) -> None:
        """Rest the endpoint; raise the fault once patience is spent."""
        endpoint.failed(fault)
        kind = Overloaded if isinstance(fault, Overloaded) else ServiceUnavailable
        limit = self._policy.overloaded_tries if kind is Overloaded else self._policy.unavailable_tries
        patience[kind] += 1
        down = kind is ServiceUnavailable and self.endpoints.down_s() > self._policy.unavailable_s
        if patience[kind] >= limit or down:
            raise fault


def _reference_lost(item: Encoded, answer: Answer) -> bool:
    if item.reference is None or item.reference.startswith(b'{"$ref"'):
        return False
    return answer.error_code == ErrorCode.UNKNOWN_REFERENCE


async def _next(lines: AsyncIterator[bytes]) -> bytes | None:
    return await anext(lines, None)
