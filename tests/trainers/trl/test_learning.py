"""TRL's own trainers learn from our rewards, over every transport."""

from pathlib import Path

import pytest
from trl import GRPOTrainer, RLOOTrainer

from assay.trainer_adapter.sessions import close_all
from assay.trainer_adapter.trl import AssayReward, AsyncAssayReward

from .._service import Service
from ._runs import BATCH, NUMBER, STEPS, logged, rise, sums, trained


@pytest.mark.parametrize("transport", ["http", "grpc", "embedded"])
def test_grpo_learns(transport: str, service: Service, tmp_path: Path) -> None:
    url = {"http": service.http, "grpc": service.grpc, "embedded": "embedded:"}[transport]
    reward = AssayReward("exact", NUMBER, url=url, **({"lanes": 1} if transport == "embedded" else {}))
    before = service.metric("assay_results_total")
    means = logged(trained(GRPOTrainer, reward, tmp_path), "rewards/assay_exact/mean")
    asked = service.metric("assay_results_total") - before
    assert len(means) == STEPS and rise(means) > 0.2
    assert asked == (0 if transport == "embedded" else STEPS * BATCH)
    close_all()


def test_rloo_learns_from_an_awaited_reward(service: Service, tmp_path: Path) -> None:
    trainer = trained(RLOOTrainer, AsyncAssayReward("exact", NUMBER, url=service.http), tmp_path)
    assert rise(logged(trainer, "rewards/assay_exact/mean")) > 0.2
    for name, value in (("graded", 1.0), ("outages", 0.0), ("row_faults", 0.0)):
        assert logged(trainer, f"assay_exact/{name}") == [value] * STEPS


def test_conversations_learn(service: Service, tmp_path: Path) -> None:
    reward = AssayReward("math", {"answer": "{answer}", "extract": "auto"}, url=service.grpc, name="sums")
    assert rise(logged(trained(GRPOTrainer, reward, tmp_path, data=sums(chat=True)), "rewards/sums/mean")) > 0.2


def test_rows_at_fault_abstain_and_their_neighbours_learn(service: Service, tmp_path: Path) -> None:
    data = sums()
    answers = [None if index % 5 == 0 else answer for index, answer in enumerate(data["answer"])]
    trainer = trained(
        GRPOTrainer,
        AssayReward("exact", NUMBER, url=service.http),
        tmp_path,
        data=data.remove_columns("answer").add_column("answer", answers),
    )
    assert rise(logged(trainer, "rewards/assay_exact/mean")) > 0.2
    faults = logged(trainer, "assay_exact/row_faults")
    assert 0.1 < sum(faults) / len(faults) < 0.3 and logged(trainer, "assay_exact/outages") == [0.0] * STEPS
