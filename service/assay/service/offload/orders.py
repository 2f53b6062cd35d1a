"""What the front and a reader process send each other: a length, then msgpack.

Values that several items share (a reference, a default) are sent once: items name them by their place in `values`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.frames import OptionsFrame
from assay.service.engine.intake.work import Batch, Refused, VerifierFacts, Work
from assay.service.engine.protocol import Report
from assay.service.engine.settings import Limits

LENGTH = struct.Struct("<Q")


class Encoding(StrEnum):
    """How a body is written."""

    JSON = "json"
    MSGPACK = "msgpack"
    PROTOBUF = "protobuf"


class Facts(Struct, array_like=True):
    """`VerifierFacts`."""

    name: str
    version: int
    reads: frozenset[str]
    sandboxed: bool
    cpu_s: float
    may_sandbox: bool
    repeatable: bool

    @classmethod
    def of(cls, facts: VerifierFacts) -> Facts:
        """Return the facts of a verifier in this form."""
        return cls(*(getattr(facts, name) for name in cls.__struct_fields__))

    def facts(self) -> VerifierFacts:
        """Return them as the intake takes them."""
        return VerifierFacts(**msgspec.structs.asdict(self))


class Order(Struct, array_like=True):
    """Read a body. `references`: uploaded ones, by digest; `left_s`: of a gRPC call's deadline."""

    encoding: Encoding
    body: bytes
    owner: str
    catalogue: list[Facts]
    limits: Limits
    references: dict[str, bytes]
    fingerprint: bytes
    left_s: float | None = None


class Fit(Struct, array_like=True, tag=True):
    """`Work`; integers are places in `values`."""

    id: str
    verifier: str
    completion: int
    reference: int
    reference_digest: bytes
    fields: dict[str, int]
    group: str | None
    run: str
    options: OptionsFrame
    truncated: bool
    flags: list[str]
    key: bytes


class Unfit(Struct, array_like=True, tag=True):
    """`Refused`."""

    id: str
    report: Report
    verifier: str
    digest: str


class Fault(Struct, array_like=True):
    """`EnvelopeFault`."""

    code: str
    detail: str
    status: int
    field: str | None = None
    limit: float | None = None


class Answer(Struct, array_like=True):
    """A batch, or the fault that refuses it."""

    fault: Fault | None = None
    values: list[Any] = []
    """Text and bytes: a type that msgspec cannot name."""
    entries: list[Fit | Unfit] = []
    deadline_s: float | None = None

    @classmethod
    def of(cls, batch: Batch) -> Answer:
        """Return the answer that holds a batch."""
        values: list[Any] = []
        places: dict[int, int] = {}

        def place(value: str | bytes) -> int:
            if id(value) not in places:
                places[id(value)] = len(values)
                values.append(value)
            return places[id(value)]

        entries = [
            _fit(entry, place(entry.completion), place(entry.reference), {k: place(v) for k, v in entry.fields.items()})
            if isinstance(entry, Work)
            else Unfit(entry.id, entry.report, entry.verifier, entry.digest)
            for entry in batch.entries
        ]
        return cls(values=values, entries=entries, deadline_s=batch.deadline_s)

    @classmethod
    def refused(cls, fault: EnvelopeFault) -> Answer:
        """Return the answer for a body that is refused."""
        return cls(Fault(fault.code, fault.detail, fault.status, fault.field, fault.limit))

    def batch(self, catalogue: Mapping[str, VerifierFacts], *, owner: str, fingerprint: bytes) -> Batch:
        """Return the batch. Raises `EnvelopeFault`."""
        if (fault := self.fault) is not None:
            raise EnvelopeFault(fault.code, fault.detail, status=fault.status, field=fault.field, limit=fault.limit)
        entries = [
            _work(entry, self.values, catalogue[entry.verifier], owner, fingerprint)
            if isinstance(entry, Fit)
            else Refused(entry.id, entry.report, entry.verifier, entry.digest)
            for entry in self.entries
        ]
        return Batch(entries=entries, owner=owner, deadline_s=self.deadline_s)


def _fit(work: Work, completion: int, reference: int, fields: dict[str, int]) -> Fit:
    return Fit(
        id=work.id,
        verifier=work.facts.name,
        completion=completion,
        reference=reference,
        reference_digest=work.reference_digest,
        fields=fields,
        group=work.group,
        run=work.run,
        options=work.options,
        truncated=work.truncated,
        flags=list(work.flags),
        key=work.key,
    )


def _work(fit: Fit, values: list[Any], facts: VerifierFacts, owner: str, fingerprint: bytes) -> Work:
    return Work(
        id=fit.id,
        facts=facts,
        completion=values[fit.completion],
        reference=_bytes(values[fit.reference]),
        reference_digest=fit.reference_digest,
        fields={name: _bytes(values[place]) for name, place in fit.fields.items()},
        owner=owner,
        group=fit.group,
        run=fit.run,
        options=fit.options,
        truncated=fit.truncated,
        flags=tuple(fit.flags),
        key=fit.key,
        fingerprint=fingerprint,
    )


def _bytes(value: str | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value
