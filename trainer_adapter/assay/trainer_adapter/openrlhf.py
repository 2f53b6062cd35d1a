"""OpenRLHF's `reward_func` file: `--reward.remote_url /path/my_reward.py`, containing two lines.

    from assay.trainer_adapter.openrlhf import make_reward_func
    reward_func = make_reward_func("math", {"answer": "{label}"}, url="http://scorer:8700")

OpenRLHF calls it in a thread with lists of length one (`queries` hold prompt and response); the values of `extra_logs`
are numbers under fixed keys. Faults are handled as in `single`: a row's fault gives the constant with `assay_graded` 0;
an outage raises `Stopped`, and so does a query that does not start with its prompt: OpenRLHF turns every `Exception`
into no reward. The compat protocol `/get_reward` does the same for a URL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay.client.sequences import SPECIAL_TOKENS, response_of, without_end
from assay.trainer_adapter.missing import stopping
from assay.trainer_adapter.rows import Source
from assay.trainer_adapter.single import SingleAdapter

RewardFunc = Callable[..., dict[str, Any]]


def make_reward_func(
    verifier: str, reference: Source, *, end_tokens: Sequence[str] = SPECIAL_TOKENS, **settings: Any
) -> RewardFunc:
    """Return a `reward_func`. Templates know `label`, `prompt`, `query`; settings are those of `SingleAdapter`."""
    adapter = SingleAdapter(verifier=verifier, reference=reference, **settings)

    def reward_func(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any] | None = None, **_: Any
    ) -> dict[str, Any]:
        with stopping():
            return _scored(queries, prompts, labels)

    def _scored(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any] | None) -> dict[str, Any]:
        columns = list(zip(queries, prompts, [None] * len(queries) if labels is None else labels, strict=True))
        rows = [{"query": query, "prompt": prompt, "label": label} for query, prompt, label in columns]
        grades = adapter.grades(
            rows, [without_end(response_of(query, prompt), end_tokens) for query, prompt, _ in columns]
        )
        metrics = [adapter.metrics(grade) for grade in grades]
        mean = {key: sum(float(one[key]) for one in metrics) / max(len(metrics), 1) for key in ("graded", "row_fault")}
        return {
            "rewards": [one["score"] for one in metrics],
            "scores": [one["acc"] for one in metrics],
            "extra_logs": {f"assay_{key}": value for key, value in mean.items()},
        }

    return reward_func
