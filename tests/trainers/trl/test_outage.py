"""The service dies in the middle of a run: the trainer abstains, and goes on when it is back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerCallback
from trl import GRPOTrainer

from assay.trainer_adapter.sessions import close_all
from assay.trainer_adapter.trl import AssayReward

from .._service import Service
from ._runs import NUMBER, STEPS, logged, rise, trained

DOWN, UP = 10, 12


@pytest.fixture
def own() -> Iterator[Service]:
    """A service that may be killed."""
    one = Service()
    yield one
    one.kill()


class Outage(TrainerCallback):
    """Kills the service after one step and starts it after another."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if state.global_step == DOWN:
            self.service.kill()
        if state.global_step == UP:
            self.service.start()


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_a_killed_service_abstains_until_it_is_back(transport: str, own: Service, tmp_path: Path) -> None:
    url = {"http": own.http, "grpc": own.grpc}[transport]
    reward = AssayReward("exact", NUMBER, url=url, deadline_s=4.0, tries=1)
    trainer = trained(GRPOTrainer, reward, tmp_path, callbacks=[Outage(own)])
    graded, lost = logged(trainer, "assay_exact/graded"), logged(trainer, "assay_exact/outages")
    assert graded[:DOWN] == [1.0] * DOWN and graded[UP:] == [1.0] * (STEPS - UP)
    assert lost[DOWN:UP] == [1.0] * (UP - DOWN)
    # No gradient while nobody knows, and no reward of 0: TRL logs none at all.
    assert logged(trainer, "grad_norm")[DOWN:UP] == [0.0] * (UP - DOWN)
    means = [mean for mean in logged(trainer, "rewards/assay_exact/mean") if mean is not None and mean == mean]
    assert 0.0 not in means and rise(means) > 0.15
    close_all()
