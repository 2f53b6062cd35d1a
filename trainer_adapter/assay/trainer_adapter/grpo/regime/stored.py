"""Samples as the buffer stores them, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.buffer import StoredSample
from assay.trainer_adapter.grades import Grade
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.samples import Group, Sample

GRADE = ("reward", "score", "reason", "fault", "detail")


def stored(group: Group) -> list[StoredSample]:
    """Return the samples of a group for the buffer."""
    return [
        StoredSample(
            index=one.index, ids=one.ids, mask=one.mask, logps=one.logps, spans=one.spans, text=one.text,
            truncated=one.truncated, grade=_table(one.grade),
        )
        for one in group.samples
    ]  # fmt: skip


def _table(grade: Grade | None) -> dict[str, Any] | None:
    return None if grade is None else {name: getattr(grade, name) for name in GRADE}


def restored(draw: Draw, samples: Iterable[StoredSample]) -> Group:
    """Return the group of stored samples. Results of the service are not stored: `Grade.result` is None."""
    return Group(
        draw,
        [
            Sample(
                draw.number, one.index, list(one.ids), list(one.mask), list(one.logps), one.text, one.truncated,
                None if one.grade is None else Grade(**one.grade), [(version, count) for version, count in one.spans],
            )
            for one in samples
        ],
    )  # fmt: skip
