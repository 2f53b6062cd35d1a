"""Short runs of TRL's own trainers on the tiny adder, and what their logs say."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

from . import _tiny

STEPS, SPAN, BATCH = 40, 8, 128
CONFIGS = {GRPOTrainer: GRPOConfig, RLOOTrainer: RLOOConfig}
NUMBER = {"mode": "number", "gold": "{answer}", "extract": "whole"}


@functools.cache
def _warm() -> tuple[Any, dict[str, Any]]:
    words = _tiny.tokenizer()
    return words, {name: value.clone() for name, value in _tiny.adder(words).state_dict().items()}


def sums(*, chat: bool = False) -> Dataset:
    """Prompts and answers."""
    prompts = [[{"role": "user", "content": asked}] if chat else asked for asked, _ in _tiny.SUMS]
    return Dataset.from_dict({"prompt": prompts, "answer": [said for _, said in _tiny.SUMS]})


def trained(kind: type, reward: Any, folder: Path, *, data: Dataset | None = None, **options: Any) -> Any:
    """A trainer that has run."""
    words, state = _warm()
    learner = _tiny.model(words)
    learner.load_state_dict(state)
    callbacks = options.pop("callbacks", None)
    args = config(CONFIGS[kind], folder, **options)
    trainer = kind(
        model=learner,
        reward_funcs=[reward],
        args=args,
        train_dataset=sums() if data is None else data,
        processing_class=words,
        callbacks=callbacks,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer


def config(kind: type, folder: Path, **options: Any) -> Any:
    """Settings that learn in seconds."""
    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "save_strategy": "no",
        "max_steps": STEPS,
        "per_device_train_batch_size": BATCH,
        "num_generations": 8,
        "max_completion_length": 2,
        "learning_rate": 1.5e-3,
        "beta": 0.0,
        "logging_steps": 1,
        "seed": 1,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
    }
    return kind(**settings | options)


def logged(trainer: Any, name: str) -> list[float]:
    """One of the metrics, step by step."""
    return [entry[name] for entry in trainer.state.log_history if name in entry]


def rise(means: Sequence[float], *, span: int = SPAN) -> float:
    """How much better the last steps are than the first."""
    return sum(means[-span:]) / span - sum(means[:span]) / span
