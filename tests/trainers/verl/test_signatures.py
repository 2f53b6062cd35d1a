"""Callers of verl that do not await: the offline evaluation's own task, and the `remote` manager's rule."""

import inspect
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf
from verl.trainer.main_eval import process_item

from assay.trainer_adapter import verl as adapter
from assay.trainer_adapter.missing import Stopped
from assay.trainer_adapter.single import KEYS

from .._service import Service, free_port

SAID = np.array([r"\boxed{4}", r"\boxed{5}"], dtype=object)


def evaluation(url: str, name: str, **more: Any) -> Any:
    """Return the part of `main_eval`'s configuration that names the reward function."""
    kwargs = {"verifier": "math", "url": url, **more}
    function = {"path": "pkg://assay.trainer_adapter.verl", "name": name, "reward_kwargs": kwargs}
    return OmegaConf.create({"reward": {"custom_reward_function": function}, "custom_reward_function": function})


def evaluated(config: Any) -> Any:
    """Run the body of verl's remote task here."""
    return process_item._function(config, "sums", SAID, {"ground_truth": "4"})


def test_the_offline_evaluation_averages_numbers(service: Service) -> None:
    assert evaluated(evaluation(service.http, "compute_score_eval")) == ("sums", 0.5)


def test_an_outage_stops_the_offline_evaluation_and_is_no_0() -> None:
    config = evaluation(f"http://127.0.0.1:{free_port()}", "compute_score_eval", deadline_s=2)
    with pytest.raises(Stopped, match="no verdict"):
        evaluated(config)


def test_the_function_that_is_not_awaited_returns_what_the_awaited_one_does(service: Service) -> None:
    assert not inspect.iscoroutinefunction(adapter.compute_score_sync)
    told = adapter.compute_score_sync("sums", r"\boxed{4}", "4", None, verifier="math", url=service.http)
    assert set(told) == set(KEYS) and told["score"] == 1.0
