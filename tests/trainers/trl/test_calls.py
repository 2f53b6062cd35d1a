"""How TRL calls: AsyncGRPO's own scorer, what it forwards to a spawned process, and environments that are judged."""

import asyncio
import multiprocessing
import pickle  # noqa: TID251 - what AsyncGRPO does to a reward
from pathlib import Path
from typing import Any

import pytest
from accelerate import PartialState
from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer
from trl.experimental.async_grpo.async_rollout_worker import (
    RolloutGroup,
    TrainingSequence,
    _AsyncRolloutLoop,
)

from assay.trainer_adapter.trl import AssayReward, AsyncAssayReward

from .._service import Service
from . import _tiny
from ._runs import NUMBER, config, logged, rise, sums


def rollout_loop(reward: Any) -> Any:
    """What AsyncGRPO runs in its child process; it is given pickled rewards."""
    context, words = multiprocessing.get_context("spawn"), _tiny.tokenizer(tools=True)
    return _AsyncRolloutLoop(
        model_name="tiny",
        dataset=sums(),
        reward_funcs=[reward],
        processing_class=words,
        eos_token_ids=[words.eos_token_id],
        rollout_buffer=context.Queue(),
        model_version_value=context.Value("i", 0),
        heartbeat_value=context.Value("d", 0.0),
        failed_event=context.Event(),
        exception_info_queue=context.Queue(1),
        metrics_queue=context.Queue(),
        num_generations=4,
    )


def group(completions: list[str], **columns: list[Any]) -> RolloutGroup:
    """One prompt's rollouts, as generation leaves them."""
    count = len(completions)
    return RolloutGroup(
        prompts=[[{"role": "user", "content": "2+2="}]] * count,
        reward_kwargs=columns,
        completions=[[{"role": "assistant", "content": text}] for text in completions],
        completions_ids=[[1, 2]] * count,
        completions_sequences=[[TrainingSequence([1, 2], [0, 1], [0.0, -1.0], index)] for index in range(count)],
        tool_call_counts=[0] * count,
        tool_failure_counts=[0] * count,
        model_version=0,
        group_id=0,
        env_rewards=[None] * count,
        rollout_rewards=[None] * count,
    )


@pytest.mark.parametrize("kind", [AssayReward, AsyncAssayReward])
def test_async_grpos_own_scorer_takes_a_pickled_reward(kind: type[AssayReward], service: Service) -> None:
    reward = pickle.loads(pickle.dumps(kind("exact", NUMBER, url=service.http)))
    PartialState()  # accelerate's loggers want it; the child process makes it too
    rollouts = group(["4", "5", "4", "x"], answer=["4", "4", None, "4"])
    samples = asyncio.run(rollout_loop(reward)._score_group(rollouts))
    first, *_, last = rewards = [sample.metrics["rewards/assay_exact"] for sample in samples]
    assert (first, rewards[1], last) == (1.0, 0.0, 0.0)
    assert rewards[2] != rewards[2], "no verdict is NaN to TRL, never 0"
    assert samples[2].advantage == 0.0 < samples[0].advantage


TIMES = 2


class Button:
    """An environment whose state is judged."""

    def reset(self, **row: Any) -> None:
        """Begin anew."""
        self.state = {"presses": 0}

    def press(self, times: int) -> str:
        """Press the button.

        Args:
            times: How often.

        Returns:
            What happened.
        """
        self.state["presses"] += times
        return "ok"


def state_of(row: Any) -> Any:
    """The state that the environment recorded."""
    return row["environment"].state


PRESSED = {"expect": {"state": {"presses": TIMES}}}
ASKED = [{"role": "user", "content": "Press it."}]


def presser() -> tuple[Any, Any]:
    """A model that presses once, twice or thrice, and its tokenizer: the words of the prompt are tokens."""
    asked = _tiny.tokenizer(tools=True).apply_chat_template(
        ASKED, tools=[Button().press], add_generation_prompt=True, tokenize=False
    )
    calls = [
        f'<tool_call>\n{{"name": "press", "arguments": {{"times": {n}}}}}\n</tool_call>{_tiny.END}' for n in (1, 2, 3)
    ]
    told = "\n<|im_start|>user\n<tool_response>\nok\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    words = _tiny.tokenizer(tools=True, text=asked + calls[0] + told)
    made = _tiny.model(words)
    turns = [(asked, call) for call in calls] + [(asked + call + told, f"ok{_tiny.END}") for call in calls]
    _tiny.warm_up(made, words, turns, steps=130, batch=6)
    return made, words


def test_an_environments_state_is_learnt_from(service: Service, tmp_path: Path) -> None:
    model, words = presser()
    reward = AssayReward("tool", PRESSED, fields={"final_state": state_of}, url=service.http, name="pressed")
    options = {
        "per_device_train_batch_size": 16,
        "num_generations": 16,
        "max_completion_length": 44,
        "max_steps": 12,
        "learning_rate": 1e-3,
    }
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[reward],
        args=config(GRPOConfig, tmp_path, **options),
        train_dataset=Dataset.from_dict({"prompt": [ASKED] * 8}),
        processing_class=words,
        environment_factory=Button,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    means = logged(trainer, "rewards/pressed/mean")
    assert logged(trainer, "pressed/graded") == [1.0] * 12
    assert rise(means, span=4) > 0.1
