"""From a request's bytes to a batch. Validation checks JSON, size and depth; it never interprets a completion's text.

Faults of the envelope (not JSON, duplicate keys or ids, the body too large, an unknown field at the top) raise
`EnvelopeFault`: a 4xx. Faults of one item are that item's result (`items`), and its neighbours are scored. What a
reference, a message or a score holds is checked in the lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

import msgspec

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake import deep, envelopes, repair
from assay.service.engine.intake.codecs import Codec, JsonCodec, MsgpackCodec
from assay.service.engine.intake.frames import ItemFrame
from assay.service.engine.intake.items import ItemReader, Resolve
from assay.service.engine.intake.work import Batch, Refused, VerifierFacts, Work
from assay.service.engine.settings import Limits


@dataclass(frozen=True, kw_only=True)
class Intake:
    """Reads batches for one engine."""

    catalogue: Mapping[str, VerifierFacts]
    limits: Limits
    resolve: Resolve

    def read_json(self, body: bytes, *, owner: str) -> Batch:
        """Return a JSON body as a batch. Raises EnvelopeFault."""
        self._bound("body", len(body), self.limits.body_bytes)
        body, repairs = repair.strict(body)
        return self._read(body, JsonCodec(), owner, repairs)

    def read_msgpack(self, body: bytes, *, owner: str) -> Batch:
        """Return a msgpack body as a batch. Raises EnvelopeFault."""
        self._bound("body", len(body), self.limits.body_bytes)
        found: dict[int, list[tuple[str, repair.Repair]]] = {}
        try:
            msgspec.msgpack.decode(body, type=msgspec.Raw)
        except RecursionError:
            with suppress(deep.NotMsgpack):
                body, found = deep.without_depth(body)
        except msgspec.DecodeError:
            pass  # the envelope says what is wrong
        return self._read(body, MsgpackCodec(), owner, repair.Repairs(), found)

    def _read(
        self,
        body: bytes,
        codec: Codec,
        owner: str,
        repairs: repair.Repairs,
        found: Mapping[int, Sequence[tuple[str, repair.Repair]]] = MappingProxyType({}),
    ) -> Batch:
        envelope = envelopes.envelope(body, codec, items=self.limits.items)
        self._check_count(len(envelope.items))
        self._check_defaults(len(envelope.defaults or b""), len(envelope.items))
        reader = self._reader(codec, owner, envelopes.defaults(envelope.defaults, codec))
        items = [bytes(raw) for raw in envelope.items]
        repaired = {**found, **repair.by_item(body, items, repairs)}
        entries = [reader.read_raw(index, raw, repaired.get(index, ())) for index, raw in enumerate(items)]
        return _batch(entries, owner, envelope.deadline_s)

    def read_frames(
        self,
        items: Sequence[ItemFrame],
        codec: Codec,
        *,
        defaults: ItemFrame | None,
        owner: str,
        deadline_s: float | None,
    ) -> Batch:
        """Return items that are cut apart already (protobuf) as a batch. Raises EnvelopeFault."""
        self._check_count(len(items))
        envelopes.refuse_default_id(defaults)
        reader = self._reader(codec, owner, defaults)
        return _batch([reader.read(index, item) for index, item in enumerate(items)], owner, deadline_s)

    def _reader(self, codec: Codec, owner: str, defaults: ItemFrame | None) -> ItemReader:
        return ItemReader(
            catalogue=self.catalogue,
            limits=self.limits,
            resolve=self.resolve,
            codec=codec,
            owner=owner,
            defaults=defaults,
        )

    def _check_count(self, count: int) -> None:
        self._bound("items", count, self.limits.items)
        if not count:
            raise EnvelopeFault(ProblemCode.EMPTY_BATCH, "items: must hold at least 1 item", field="items", limit=1)

    def _check_defaults(self, size: int, count: int) -> None:
        """Every item gets the defaults: together they must fit the queue, and work on them must be bounded."""
        if size * count > self.limits.queue_bytes:
            detail = "defaults: times the number of items, more than the queue holds; send fewer items at once"
            limit = self.limits.queue_bytes
            raise EnvelopeFault(ProblemCode.TOO_LARGE, detail, status=413, field="defaults", limit=limit)

    def _bound(self, field: str, size: int, limit: int) -> None:
        if size > limit:
            unit = "items" if field == "items" else "bytes"
            detail = f"{field}: must be at most {limit} {unit}"
            raise EnvelopeFault(ProblemCode.TOO_LARGE, detail, status=413, field=field, limit=limit)


def _batch(entries: list[Work | Refused], owner: str, deadline_s: float | None) -> Batch:
    if len({entry.id for entry in entries}) != len(entries):
        raise EnvelopeFault(ProblemCode.DUPLICATE_ID, "items: two items have the same id", field="items.id")
    return Batch(entries=entries, owner=owner, deadline_s=envelopes.deadline(deadline_s))
