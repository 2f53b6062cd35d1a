"""TRL: a reward function for `GRPOTrainer`, `RLOOTrainer` and similar trainers.

    from assay.trainer_adapter.trl import AssayReward
    reward = AssayReward("math", {"answer": "{answer}"}, url="http://scorer:8700")
    GRPOTrainer(..., reward_funcs=[reward])

TRL calls it with every dataset column as a list, and with `trainer_state`, `log_metric` and `log_extra` where the
trainer has them. None is TRL's value for "not applicable": the completion is left out of the group's baseline, so a
missing verdict becomes None. `AsyncAssayReward` is awaited by TRL concurrently with other async rewards. Importing this
module imports no trainer. For several verifiers use one reward each (weighted by the trainer's `reward_weights`), or
`verifier="{column}"`. ms-swift's calls are supported too.

With several rewards TRL drops a None from the row's sum, where it then counts like a 0 compared with other rows: prefer
one reward with a `composite` verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from assay.client import Client, ConfigurationError
from assay.client.templates import Row
from assay.trainer_adapter.grades import Grade, Tally
from assay.trainer_adapter.missing import MAX_UNGRADED, AbstainPolicy, Outages
from assay.trainer_adapter.rows import RowMap, Source
from assay.trainer_adapter.scorer import DEADLINE_S, Prepared, Scorer
from assay.trainer_adapter.sessions import Target


class AssayReward:
    """A callable that TRL accepts as a reward function. Picklable unless it holds a client of the caller.

    Args:
        verifier: a verifier's name, or a template such as `"{task}"`.
        reference: template or function of the row; columns `prompt`, `completion_ids`, `environment` are available too.
        fields: further fields of an item, as templates or functions.
        url: the service, `embedded:` for an engine on this machine, or a `Client`.
        name: its name in TRL's logs (`rewards/NAME/mean`). Default: `assay_VERIFIER`, with a number where another
            reward in use has that name.
        num_generations: TRL's, needed by the policies that concern groups (`row="constant"`, `outage="mean"`).
        max_ungraded_batches: batches in a row without a verdict after which a call raises `Ungraded`.
        policy: what to return if there is no verdict; default: None.
        deadline_s: wall seconds for one call, including outages.
        options: options of the client (`api_key`, embedded: `plugins=["my_rewards.py"]`, …).

    A call raises `Ungraded` if the policy says so, after `max_ungraded_batches`, and if the first batch gets no verdict
    (a service that is not there); before the first verdict also the error of a wrong URL, key, verifier or template.
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
        num_generations: int | None = None,
        max_ungraded_batches: int = MAX_UNGRADED,
        deadline_s: float = DEADLINE_S,
        api_key: str | None = None,
        **options: Any,
    ) -> None:
        self.__name__ = name or _free_name(verifier)
        _named[self.__name__] = self
        self.policy = policy or AbstainPolicy()
        self._group = num_generations
        if self.policy.grouped and not num_generations:
            raise ConfigurationError('row="constant" and outage="mean" need num_generations, as TRL has it')
        self._outages = Outages(max_ungraded_batches)
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
        """Return one reward, or None, per completion."""
        items = self._items(prompts, completions, completion_ids, trainer_state, columns)
        return self._rewards(self._scorer.score(items), prompts, log_extra, log_metric)

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

    def _rewards(
        self,
        grades: Sequence[Grade],
        prompts: Sequence[Any] | None,
        log_extra: Callable[[str, list[Any]], None] | None,
        log_metric: Callable[[str, float], None] | None,
    ) -> list[float | None]:
        if log_metric is not None:
            for name, value in {**Tally.of(grades).rates(), **_correct(grades)}.items():
                log_metric(f"{self.__name__}/{name}", value)
        if log_extra is not None:
            log_extra(f"{self.__name__}/reason", [grade.reason for grade in grades])
        self._outages.see(grades)
        return self.policy.rewards(grades, self._groups(len(grades)) if self.policy.grouped else None)

    def _groups(self, count: int) -> list[int]:
        """Return the group of each completion: TRL's batches hold the completions of a prompt one after the other."""
        size = self._group or 1
        if count % size:
            raise ConfigurationError(
                f"{count} completions are not whole groups of num_generations = {size}: a process's batch cuts groups"
            )
        return [place // size for place in range(count)]


class AsyncAssayReward(AssayReward):
    """An `AssayReward` as a coroutine function, which TRL awaits concurrently with others."""

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
        """Return one reward, or None, per completion."""
        items = self._items(prompts, completions, completion_ids, trainer_state, columns)
        return self._rewards(await self._scorer.score_async(items), prompts, log_extra, log_metric)


def _is_column(values: Any, length: int) -> bool:
    if not hasattr(values, "__getitem__") or isinstance(values, str | Mapping):
        return False
    return getattr(values, "shape", True) != () and len(values) == length  # a zero-dimensional array has no length


def _correct(grades: Sequence[Grade]) -> dict[str, float]:
    """Return the share of graded completions that are correct as a metric; none where nothing is graded."""
    graded = [grade for grade in grades if grade.fault is None]
    return {"correct": sum(grade.correct for grade in graded) / len(graded)} if graded else {}


_named: WeakValueDictionary[str, AssayReward] = WeakValueDictionary()
"""Rewards in use, by name: TRL would log two of one name as one."""


def _free_name(verifier: str) -> str:
    plain = "".join(char if char.isalnum() or char in "_-." else "_" for char in verifier).strip("_")
    names = (f"assay_{plain}", *(f"assay_{plain}_{number}" for number in range(2, len(_named) + 3)))
    return next(name for name in names if name not in _named)


__all__ = ["AssayReward", "AsyncAssayReward", "Row"]
