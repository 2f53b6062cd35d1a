"""TRL: a reward function for `GRPOTrainer`, `RLOOTrainer` and their kin.

    from assay.trainer_adapter.trl import AssayReward
    reward = AssayReward("math", {"answer": "{answer}"}, url="http://scorer:8700")
    GRPOTrainer(..., reward_funcs=[reward])

Called with every dataset column as a list; `trainer_state`, `log_metric` and `log_extra` where the
trainer has them. None is TRL's own word for "not applicable": the completion stays out of the group's
baseline, so that is what no verdict becomes. `AsyncAssayReward` is awaited by TRL beside others of its
kind. Importing this imports no trainer. Several verifiers: one reward each (their weights are the
trainer's `reward_weights`), or `verifier="{column}"`; ms-swift's call is served too.

With several rewards TRL drops a None of one from the row's sum, where it then weighs like a 0 beside
its peers: prefer one reward over a composite.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.client import Client
from assay.client.templates import Row
from assay.trainer_adapter.grades import Grade, Tally
from assay.trainer_adapter.missing import AbstainPolicy
from assay.trainer_adapter.rows import RowMap, Source
from assay.trainer_adapter.scorer import DEADLINE_S, Prepared, Scorer
from assay.trainer_adapter.sessions import Target


class AssayReward:
    """A callable that TRL takes as a reward function; picklable unless it holds a client of yours.

    Args:
        verifier: a verifier's name, or a template such as `"{task}"`.
        reference: template or function of the row; columns `prompt`, `completion_ids`, `environment` are there too.
        fields: further fields of an item, as templates or functions.
        url: the service, `embedded:` for an engine in this machine, or a `Client`.
        name: what TRL's logs call it (`rewards/NAME/mean`).
        policy: what is told where there is no verdict; default: None.
        deadline_s: wall seconds for one call, outages included.
        options: of the client (`api_key`, embedded: `plugins=["my_rewards.py"]`, …).

    Raises (when called) `Ungraded` if the policy says so, and before the first verdict what a wrong URL,
    key, verifier or template amounts to.
    """

    def __init__(
        self,
        verifier: str,
        reference: Source,
        *,
        url: str | Sequence[str] | Client = "embedded:",
        fields: Mapping[str, Source] | None = None,
        name: str | None = None,
        policy: AbstainPolicy | None = None,
        deadline_s: float = DEADLINE_S,
        api_key: str | None = None,
        **options: Any,
    ) -> None:
        plain_name = "".join(char if char.isalnum() or char in "_-." else "_" for char in verifier).strip("_")
        self.__name__ = name or f"assay_{plain_name}"
        self.policy = policy or AbstainPolicy()
        self._rows = RowMap(verifier=verifier, reference=reference, fields=fields)
        self._scorer = Scorer(Target.of(url, api_key=api_key, **options), deadline_s=deadline_s)

    def __call__(
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,
        *,
        trainer_state: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """One reward, or None, per completion."""
        items = self._items(prompts, completions, completion_ids, trainer_state, columns)
        return self._told(self._scorer.score(items), prompts, log_extra, log_metric)

    def _items(
        self, prompts: Any, completions: Sequence[Any], ids: Any, state: Any, columns: Mapping[str, Any]
    ) -> list[Prepared]:
        given = {"prompt": prompts, "completion_ids": ids, "environment": columns.get("environments")}
        length = len(completions)
        rows = {name: values for name, values in {**columns, **given}.items() if _is_column(values, length)}
        step = getattr(state, "global_step", None)
        label = {"step": step} if isinstance(step, int) else {}
        items = self._rows.items(rows, completions)
        return [item if isinstance(item, Grade) else {**label, **item} for item in items]

    def _told(
        self,
        grades: Sequence[Grade],
        prompts: Sequence[Any] | None,
        log_extra: Callable[[str, list[Any]], None] | None,
        log_metric: Callable[[str, float], None] | None,
    ) -> list[float | None]:
        if log_metric is not None:
            for name, value in {**Tally.of(grades).rates(), "correct": _correct(grades)}.items():
                log_metric(f"{self.__name__}/{name}", value)
        if log_extra is not None:
            log_extra(f"{self.__name__}/reason", [grade.reason for grade in grades])
        groups = [_key(prompt) for prompt in prompts] if prompts is not None and self.policy.grouped else None
        return self.policy.rewards(grades, groups)


class AsyncAssayReward(AssayReward):
    """The same as a coroutine function: TRL awaits it beside its peers."""

    async def __call__(  # type: ignore[override]
        self,
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        completion_ids: Sequence[Any] | None = None,
        *,
        trainer_state: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """One reward, or None, per completion."""
        items = self._items(prompts, completions, completion_ids, trainer_state, columns)
        return self._told(await self._scorer.score_async(items), prompts, log_extra, log_metric)


def _is_column(values: Any, length: int) -> bool:
    if not hasattr(values, "__getitem__") or isinstance(values, str | Mapping):
        return False
    return getattr(values, "shape", True) != () and len(values) == length  # an array of no dimension has no length


def _key(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True, default=str)


def _correct(grades: Sequence[Grade]) -> float:
    """Return the share of the graded that is right; 0 where nothing is graded (`graded` says so)."""
    graded = [grade for grade in grades if grade.fault is None]
    return sum(grade.correct for grade in graded) / max(len(graded), 1)


__all__ = ["AssayReward", "AsyncAssayReward", "Row"]
