"""OpenRLHF's own rollout code (its engine is a stand-in) asks our wire, and our file, for rewards."""

import asyncio
import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from openrlhf.utils.agent import SingleTurnAgentExecutor

from .._service import ROOT, Service
from .conftest import boxed

PROMPT, END = "<|im_start|>2+2? ", "<|im_end|>"


class Tokenizer:
    """Characters as ids."""

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        return {"input_ids": torch.tensor([[ord(char) for char in text]])}

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(map(chr, ids))


def rollout(executor: SingleTurnAgentExecutor, said: str, label: Any) -> dict[str, Any]:
    """One rollout: OpenRLHF's own code asks for its reward."""

    class Engine:
        async def generate(self, ids: Any, params: Any, **_: Any) -> Any:
            output = SimpleNamespace(token_ids=[ord(char) for char in said], finish_reason="stop", logprobs=None)
            return SimpleNamespace(outputs=[output])

    params = SimpleNamespace(max_tokens=50, logprobs=None)
    return dict(asyncio.run(executor.execute(PROMPT, label, params, 4096, Tokenizer(), Engine())))


@pytest.mark.parametrize(
    ("said", "label", "reward", "graded"),
    [("4", "4", 1.0, 1.0), ("5", "4", 0.0, 1.0), ("4", None, 0.5, 0.0), ("1" * 40, "1" * 40, 1.0, 1.0)],
)
def test_a_rollout_gets_its_reward_by_url(wires: Service, said: str, label: Any, reward: float, graded: float) -> None:
    told = rollout(SingleTurnAgentExecutor([f"{wires.http}/get_reward"]), boxed(said) + END, label)
    assert (told["reward"], told["scores"]) == ([reward], [reward])
    assert told["extra_logs"]["assay_graded"] == graded
    torch.tensor(list(told["extra_logs"].values()))  # what OpenRLHF does with them


def test_the_pages_file_is_loaded_and_asked(service: Service, tmp_path: Path) -> None:
    page = (ROOT / "docs/trainers.md").read_text()
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "make_reward_func" in block]
    file = tmp_path / "my_reward.py"
    file.write_text(code.replace("http://scorer:8700", service.http))
    executor = SingleTurnAgentExecutor([str(file)])
    assert rollout(executor, r"\boxed{4}" + END, "4")["reward"] == [1.0]
    assert rollout(executor, r"\boxed{5}" + END, "4")["reward"] == [0.0]


def test_an_outage_that_its_tries_outlast_costs_nothing(page: Path) -> None:
    one = Service(CONFIG=str(page))
    executor = SingleTurnAgentExecutor([f"{one.http}/get_reward"])
    try:
        one.kill()
        back = threading.Timer(0.2, one.start)
        back.start()
        told = rollout(executor, boxed(4) + END, "4")
        back.join()
        # Five tries, a second apart: it waited, or it has no reward. A 0 it never has.
        assert told["reward"] in ([1.0], None)
        assert rollout(executor, boxed(4) + END, "4")["reward"] == [1.0]
    finally:
        one.kill()
