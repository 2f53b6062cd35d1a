"""The base of adapters whose trainer scores one sample at a time and accepts only numbers: verl, OpenRLHF's file,
slime.

An adapter is made from plain settings (as in a trainer's configuration), once per process and settings. By default a
row's fault gives a constant and is counted; an outage is retried until the deadline and then raised. These adapters do
not know the group, so `mean` is refused; none can abstain.
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
"""The keys of `metrics`: trainers take the keys of the first sample for all samples."""


class SingleAdapter:
    """Scores single rows as numbers, batched internally."""

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
            raise ConfigurationError(
                "this trainer accepts only numbers, one sample at a time: abstain and mean are not possible"
            )
        self._rows = RowMap(verifier=verifier, reference=reference, fields=fields)
        self._scorer = Scorer(Target.of(url, api_key=api_key, **options), deadline_s=deadline_s)

    def item(self, row: Row, completion: Any) -> Prepared:
        """Return the item of a row."""
        return self._rows.item(row, completion)

    async def grade(self, row: Row, completion: Any) -> Grade:
        """Return one grade, requested together with other items of this loop."""
        return await self._scorer.score_one(self.item(row, completion))

    def grades(self, rows: Sequence[Row], completions: Sequence[Any]) -> list[Grade]:
        """Return many grades at once, blocking."""
        return self._scorer.score([self.item(row, said) for row, said in zip(rows, completions, strict=True)])

    def number(self, grade: Grade) -> float:
        """Return a finite number. Raises `Ungraded`."""
        (reward,) = self._policy.rewards([grade])
        assert reward is not None
        return float(reward)

    def metrics(self, grade: Grade) -> dict[str, float | str]:
        """Return the reward and metrics under the fixed `KEYS`; `acc` is correctness before any shaping."""
        number = self.number(grade)
        unit = min(max(number, 0.0), 1.0) if grade.score is None else float(grade.score)
        values = (
            number,
            unit,
            float(grade.fault is None),
            float(grade.fault == "row"),
            float(grade.fault == "service"),
        )
        return dict(zip(KEYS, (*values, grade.reason), strict=True))


_adapters: dict[str, SingleAdapter] = {}


def adapter_of(settings: Mapping[str, Any]) -> SingleAdapter:
    """Return this process's adapter with these settings."""
    key = json.dumps(settings, sort_keys=True, default=_plain)
    if key not in _adapters:
        _adapters[key] = SingleAdapter(**json.loads(key))
    return _adapters[key]


def _plain(value: Any) -> Any:
    """Return containers of other types, such as OmegaConf's, as plain ones."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise ConfigurationError(f"a setting cannot be a {type(value).__name__}")
