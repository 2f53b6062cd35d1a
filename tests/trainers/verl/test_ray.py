"""verl's RewardLoopManager on a local Ray: workers of their own, rewards on the last token, outages stop the run."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import ray
from ray.exceptions import RayTaskError
from verl.experimental.reward_loop.reward_loop import RewardLoopManager

from assay.trainer_adapter.missing import Stopped
from assay.trainer_adapter.single import KEYS

from .._service import Service
from ._batch import batch, configured
from .test_reward_loop import SAID, SOON, TRUTH, WANTED

pytestmark = pytest.mark.timeout(600)
TRIES = 4


@pytest.fixture(scope="module", autouse=True)
def local_ray() -> Iterator[None]:
    for attempt in range(TRIES):
        try:
            ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
            break
        except Exception:  # Ray gives a node 30 s to start, whatever else the machine does
            ray.shutdown()
            if attempt == TRIES - 1:
                raise
    yield
    ray.shutdown()


@pytest.mark.parametrize(("manager", "workers"), [("naive", 2), ("dapo", 1), ("rate_limited", 1)])
def test_a_batch_is_scored_and_an_outage_stops_it(manager: str, workers: int) -> None:
    own = Service()
    rewards = RewardLoopManager(configured(own.http, manager, SOON, f"reward.num_workers={workers}"))
    try:
        data = batch(SAID, TRUTH)  # five, for two workers: verl pads
        scored = rewards.compute_rm_score(data)
        assert _last(scored.batch["rm_scores"], data) == WANTED
        assert set(scored.meta_info["reward_extra_keys"]) == set(KEYS)
        assert list(scored.non_tensor_batch["row_fault"]) == [0, 0, 1, 0, 0]
        assert np.isfinite(scored.batch["rm_scores"].numpy()).all()
        own.kill()
        with pytest.raises(RayTaskError) as stopped:
            rewards.compute_rm_score(data)
        assert isinstance(stopped.value, Stopped)
    finally:
        own.kill()
        for worker in rewards.reward_loop_workers:
            ray.kill(worker)


def _last(scores: Any, data: Any) -> list[float]:
    """The reward on each sample's last token; there is none elsewhere."""
    prompt = data.batch["prompts"].size(1)
    lengths = data.batch["attention_mask"][:, prompt:].sum(dim=1)
    told = [float(row[length - 1]) for row, length in zip(scores, lengths, strict=True)]
    assert float(scores.abs().sum()) == pytest.approx(sum(map(abs, told)))
    return told
