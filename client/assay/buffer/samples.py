"""A sample as the buffer stores it, and its columns in SQLite: arrays of fixed width, little-endian."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = tuple[int, int, bytes, bytes, bytes, str, str, int, str]


@dataclass
class StoredSample:
    """One completion of a group.

    `ids`: its token ids. `mask`: False where a token was not the policy's choice. `logps`: the log-prob of each token
    under the policy that sampled it, NaN where unknown. `spans`: `(version, tokens)` in order: which version of the
    policy sampled which tokens. `grade`: the verdict as a JSON object, or None while there is none.
    """

    index: int
    ids: Sequence[int] = ()
    mask: Sequence[bool] = ()
    logps: Sequence[float] = ()
    spans: Sequence[tuple[int, int]] = ()
    text: str = ""
    truncated: bool = False
    grade: Mapping[str, Any] | None = field(default=None)


def _packed(code: str, values: Sequence[Any]) -> bytes:
    data = array(code, values)
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()


def _unpacked(code: str, data: bytes) -> list[Any]:
    values = array(code)
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tolist()


def row_of(number: int, sample: StoredSample) -> Row:
    """Return the columns of a sample of group `number`. A log-prob keeps all its bits, a lone surrogate its place."""
    return (
        number,
        sample.index,
        _packed("q", sample.ids),
        bytes(sample.mask),
        _packed("d", sample.logps),
        json.dumps([list(span) for span in sample.spans]),
        sample.text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
        int(sample.truncated),
        json.dumps(sample.grade),
    )


def sample_of(row: Row) -> StoredSample:
    """Return the sample of the columns."""
    _, index, ids, mask, logps, spans, text, truncated, grade = row
    return StoredSample(
        index=index,
        ids=_unpacked("q", ids),
        mask=[bool(one) for one in mask],
        logps=_unpacked("d", logps),
        spans=[(version, count) for version, count in json.loads(spans)],
        text=text,
        truncated=bool(truncated),
        grade=json.loads(grade),
    )
