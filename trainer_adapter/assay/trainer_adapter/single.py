"""Faces whose trainer asks one sample at a time and takes only a number: verl, OpenRLHF's file, slime's path.

A face is made of plain settings (what a trainer's configuration can hold), once per process and settings.
The default policy: a row's fault is a counted constant, an outage is retried to the deadline and then raised.
No face here sees a group, so `mean` is refused; none can abstain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.client import Client, ConfigurationError
from assay.client.templates import Row
from assay.trainer_adapter.grades import Grade
from assay.trainer_adapter.missing import AbstainPolicy
from assay.trainer_adapter.rows import RowMap, Source
from assay.trainer_adapter.scorer import DEADLINE_S, Prepared, Scorer
from assay.trainer_adapter.sessions import Target

KEYS = ("score", "acc", "graded", "row_fault", "outage", "reason")
"""What `told` always holds: trainers take the keys of the first sample for those of all."""


class SingleFace:
    """Rows to numbers, one at a time, micro-batched underneath."""

    def __init__(
        self,
        *,
        verifier: str,
        reference: Source,
        fields: Mapping[str, Source] | None = None,
        url: str | Sequence[str] | Client = "embedded:",
        deadline_s: float = DEADLINE_S,
        row_fault: str = "constant",
        outage: str = "raise",
        constant: float = 0.5,
        api_key: str | None = None,
        **options: Any,
    ) -> None:
        """See `AssayReward`; `row_fault`, `outage` and `constant` are those of `AbstainPolicy`."""
        self._policy = AbstainPolicy(row=row_fault, outage=outage, constant=constant)  # type: ignore[arg-type]
        if self._policy.abstains or outage == "mean":
            raise ConfigurationError("this trainer takes only numbers, sample by sample: no abstain, no mean")
        self._rows = RowMap(verifier=verifier, reference=reference, fields=fields)
        self._scorer = Scorer(Target.of(url, api_key=api_key, **options), deadline_s=deadline_s)

    def item(self, row: Row, completion: Any) -> Prepared:
        """Return the item of a row."""
        return self._rows.item(row, completion)

    async def grade(self, row: Row, completion: Any) -> Grade:
        """One grade, asked for together with what else this loop asks for now."""
        return await self._scorer.score_one(self.item(row, completion))

    def grades(self, rows: Sequence[Row], completions: Sequence[Any]) -> list[Grade]:
        """Many at once, blocking."""
        return self._scorer.score([self.item(row, said) for row, said in zip(rows, completions, strict=True)])

    def number(self, grade: Grade) -> float:
        """Return a finite number. Raises `Ungraded`."""
        (reward,) = self._policy.rewards([grade])
        assert reward is not None
        return float(reward)

    def told(self, grade: Grade) -> dict[str, float | str]:
        """Return the number and why, under the fixed `KEYS`; `acc` is correctness before any shaping."""
        number = self.number(grade)
        unit = min(max(number, 0.0), 1.0) if grade.score is None else float(grade.score)
        values = (number, unit, float(grade.fault is None), float(grade.fault == "row"), float(grade.fault == "ours"))
        return dict(zip(KEYS, (*values, grade.reason), strict=True))


_faces: dict[str, SingleFace] = {}


def face_of(settings: Mapping[str, Any]) -> SingleFace:
    """Return the face of these settings in this process."""
    key = json.dumps(settings, sort_keys=True, default=_plain)
    if key not in _faces:
        _faces[key] = SingleFace(**json.loads(key))
    return _faces[key]


def _plain(value: Any) -> Any:
    """Containers of other kinds, such as OmegaConf's."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise ConfigurationError(f"a setting cannot be a {type(value).__name__}")
