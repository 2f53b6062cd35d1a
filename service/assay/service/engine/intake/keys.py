"""`item_key`: equal key, equal verdict.

SHA-256 over length-prefixed parts: the verifier and its version, the reference as sent, the effective
limits, every item field that the verifier declares it reads, the fingerprint of toolchains and backend
(sandboxed verifiers), and the owner. Two spellings of one reference have two keys: a cache miss, never
a wrong hit. An item whose verifier is not repeatable has a random key. Not part of it: id, group, run, step.
"""

from __future__ import annotations

import os
import struct
from hashlib import sha256

from assay.service.engine.intake.work import Work

_FORMAT = b"assay-item-1"


def item_key(work: Work, *, fingerprint: bytes = b"") -> bytes:
    """Return the 32-byte key of one item."""
    parts = _parts(work, fingerprint)
    lengths = struct.pack(f"<I{len(parts)}Q", len(parts), *map(len, parts))
    return sha256(b"".join((lengths, *parts))).digest()


def _parts(work: Work, fingerprint: bytes) -> list[bytes]:
    facts, options, completion = work.facts, work.options, work.completion
    text = isinstance(completion, str)
    kind = "text" if text else "messages"
    limits = (options.timeout_s, options.cpu_s, work.budget_s, options.explain)
    head = f"{facts.label}\0{limits}\0{kind}"
    parts = [
        _FORMAT, head.encode(), work.reference_digest, work.owner.encode(),
        fingerprint if facts.sandboxed or facts.may_sandbox else b"",
        completion.encode() if isinstance(completion, str) else completion,
        b"" if facts.repeatable else os.urandom(16),
    ]  # fmt: skip
    for name in sorted(work.fields):
        parts += (name.encode(), work.fields[name])
    return parts
