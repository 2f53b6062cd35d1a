"""A tiny policy and runs of it, made once a session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.client import Client, MemoryTransport
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.scoring import SampleScorer
from assay.trainer_adapter.grpo.run import tiny
from assay.trainer_adapter.grpo.run.command import _filled, read
from assay.trainer_adapter.grpo.run.config import Run
from assay.trainer_adapter.scorer import Scorer


def make(folder: Path, *, warm_steps: int = 90, limit: int = 6) -> dict[str, str]:
    return tiny.prepare(folder, seed=0, limit=limit, held_out=8, width=32, layers=1, warm_steps=warm_steps)


def run_of(paths: Mapping[str, str], *overrides: str) -> Run:
    small = ["steps=4", "rollout.prompts=8", "rollout.group=4", "eval.every=2", "eval.rows=8", "checkpoint.every=2"]
    return _filled(read("demo", [*small, *overrides]), paths)


def policy_of(paths: Mapping[str, str], **model: Any) -> Policy:
    return Policy.load(run_of(paths).model.model_copy(update=model))


def exact(item: dict[str, Any]) -> float:
    """A judge in memory, for tests of what surrounds the verdict; runs of the loop use Assay's own."""
    return float(item["completion"] == item["reference"]["gold"])


def outage(item: Any) -> dict[str, Any]:
    """What a service whose workers are gone says of every item."""
    return {"reward": None, "error": {"code": "worker_lost", "message": "a worker is gone", "retryable": True}}


def judge_of(run: Run, judge: Any = exact, **options: Any) -> SampleScorer:
    client = Client(transport=MemoryTransport(judge), tries=1)
    return SampleScorer(
        run.reward, run="test", scorer=Scorer(client, deadline_s=options.pop("deadline_s", 30.0), **options)
    )
