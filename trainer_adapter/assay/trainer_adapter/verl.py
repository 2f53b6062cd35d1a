"""verl: `compute_score` by its path, and a reward manager that adds the prompt.

    reward.custom_reward_function.path=pkg://assay.trainer_adapter.verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.verifier=math
    +reward.custom_reward_function.reward_kwargs.url=http://scorer:8700

verl (0.9) calls it once per sample, thousands concurrently on one loop; they are sent together. verl accepts only
numbers, keeps the first sample's keys for all, and accepts NaN silently, so the keys are fixed and every number is
finite. A row's fault gives the constant 0.5 with `graded` 0; an outage, after retries to the deadline, stops the run.
verl's `rate_limited` turns every `Exception` and its own timeout into a reward of 0; therefore what stops the run is
`Stopped`, which is not an `Exception`. Managers: `naive`, `dapo`, `rate_limited`, or `AssayRewardManager`
(`reward.reward_manager.source=importlib`), which is `naive` with `prompt` and `completion_ids` for templates. The
manager `remote` takes `compute_score_sync`, and `verl.trainer.main_eval` takes `compute_score_eval`. Importing this
module imports no verl.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from assay.trainer_adapter.missing import Stopped as Stopped
from assay.trainer_adapter.missing import stopping
from assay.trainer_adapter.rows import Source
from assay.trainer_adapter.single import SingleAdapter, adapter_of

REFERENCE = {"answer": "{ground_truth}"}
_OF_VERL = ("reward_router_address", "reward_model_tokenizer", "strict_box_verify")
_COLUMNS = ("prompt", "completion_ids")
ComputeScore = Callable[..., Awaitable[dict[str, Any]]]


async def compute_score(
    data_source: Any = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    **reward_kwargs: Any,
) -> dict[str, Any]:
    """Return one sample's score under fixed keys.

    `reward_kwargs`: `verifier` (required; may be `"{data_source}"`), `reference` (default: answer = ground_truth),
    `url`,
    `fields`, `deadline_s`, `row_fault`, `outage`, `constant`, and the client's options. Templates know `data_source`,
    `ground_truth`, `extra_info`, `prompt`, `completion_ids`. Raises `Stopped`.
    """
    with stopping():
        row, adapter = _asked(data_source, ground_truth, extra_info, reward_kwargs)
        return adapter.metrics(await adapter.grade(row, solution_str))


def compute_score_sync(
    data_source: Any = None,
    solution_str: str = "",
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    **reward_kwargs: Any,
) -> dict[str, Any]:
    """Return the same as `compute_score`, for callers that do not await: the `remote` reward manager."""
    with stopping():
        row, adapter = _asked(data_source, ground_truth, extra_info, reward_kwargs)
        (grade,) = adapter.grades([row], [solution_str])
        return adapter.metrics(grade)


def compute_score_eval(data_source: Any, solution_str: str, ground_truth: Any, **reward_kwargs: Any) -> float:
    """Return the score alone, for `verl.trainer.main_eval`, which averages what it gets."""
    return float(compute_score_sync(data_source, solution_str, ground_truth, **reward_kwargs)["score"])


def _asked(
    source: Any, truth: Any, extra: Mapping[str, Any] | None, more: Mapping[str, Any]
) -> tuple[dict[str, Any], SingleAdapter]:
    """Return the row of a call, and this process's adapter with the call's settings."""
    own = {name: value for name, value in more.items() if name not in _OF_VERL and name not in _COLUMNS}
    return _row(source, truth, extra, more), adapter_of({"reference": REFERENCE, **own})


def make_compute_score(verifier: str, reference: Source = REFERENCE, **settings: Any) -> ComputeScore:
    """Return a `compute_score` for your own file: references may be functions, and `url` may be a client."""
    adapter = SingleAdapter(verifier=verifier, reference=reference, **settings)

    async def compute_score(
        data_source: Any = None,
        solution_str: str = "",
        ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None,
        **reward_kwargs: Any,
    ) -> dict[str, Any]:
        row = _row(data_source, ground_truth, extra_info, reward_kwargs)
        with stopping():
            return adapter.metrics(await adapter.grade(row, solution_str))

    return compute_score


def _row(source: Any, truth: Any, extra: Mapping[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
    row = {"data_source": source, "ground_truth": truth, "extra_info": extra or {}}
    return row | {name: more[name] for name in _COLUMNS if more.get(name) is not None}


def _manager() -> type:
    """Return the manager class, created on first use because its base class is verl's."""
    from verl.experimental.reward_loop.reward_manager.base import (  # type: ignore[import-not-found]
        RewardManagerBase,
    )

    class AssayRewardManager(RewardManagerBase):  # type: ignore[misc]
        """verl's `naive` manager, with the prompt and the token ids available to templates."""

        def __init__(self, config: Any, tokenizer: Any, compute_score: Any, *others: Any, **more: Any) -> None:
            super().__init__(config, tokenizer, compute_score)

        async def run_single(self, data: Any) -> dict[str, Any]:
            sample = data[-1:][0]  # of several sequences the last one is scored
            ids = sample.batch["responses"]
            valid = ids[: int(sample.batch["attention_mask"][-ids.shape[-1] :].sum())]
            text = await self.loop.run_in_executor(None, lambda: self.tokenizer.decode(valid, skip_special_tokens=True))
            metrics = await self.compute_score(
                **_arguments(sample.non_tensor_batch), solution_str=text, completion_ids=valid
            )
            return {"reward_score": metrics["score"], "reward_extra_info": metrics}

    return AssayRewardManager


def _arguments(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for `compute_score` from a sample's own fields (which are not changed)."""
    extra = {**(fields.get("extra_info") or {}), **(fields.get("tool_extra_fields") or {})}
    extra["num_turns"] = fields.get("__num_turns__")
    extra["rollout_reward_scores"] = fields.get("reward_scores") or {}
    truth = fields["reward_model"]["ground_truth"]
    named = {"data_source": fields["data_source"], "ground_truth": truth, "extra_info": extra}
    return named | {"prompt": fields.get("raw_prompt")}


def __getattr__(name: str) -> Any:
    if name != "AssayRewardManager":
        raise AttributeError(name)
    manager = _manager()
    globals()[name] = manager
    return manager
