"""What `assay curate` writes is what TRL reads: its SFT and DPO trainers take a few steps on it as it is."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from assay.datasets.curate import Rules, Tally, for_sft, pairs, prompts
from assay.datasets.curate.shapes import trl_pair, trl_sft
from assay.datasets.curate.writer import Writer

from ._tiny import model, tokenizer

COMMON: dict[str, Any] = {
    "use_cpu": True,
    "bf16": False,
    "report_to": "none",
    "save_strategy": "no",
    "per_device_train_batch_size": 4,
    "max_steps": 3,
    "logging_steps": 1,
    "max_length": 64,
}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four samples of each of eight sums, half of them right."""
    path = tmp_path_factory.mktemp("scored") / "scored.jsonl"
    with path.open("w") as file:
        for n in range(8):
            for sample in range(4):
                right = sample % 2 == 0
                result = {"reward": float(right), "score": float(right), "outcome": "correct" if right else "incorrect"}
                row = {
                    "id": f"{n}-{sample}",
                    "group": str(n),
                    "prompt": f"{n}+1=",
                    "result": result,
                    "completion": str(n + 1 + (not right)) + "0" * (sample // 2),
                }
                file.write(json.dumps(row) + "\n")
    return path


def written(scored: Path, name: str, folder: Path) -> Any:
    target = folder / name
    with Writer(target) as out:
        for prompt in prompts(str(scored)):
            if name.startswith("sft"):
                for rollout in for_sft(prompt, Rules(), Tally()):
                    out.add(trl_sft(rollout))
            else:
                for chosen, rejected in pairs(prompt, Rules(pairs=2), Tally()):
                    out.add(trl_pair(chosen, rejected))
    kind = "parquet" if name.endswith("parquet") else "json"
    return load_dataset(kind, data_files=str(target), split="train", cache_dir=str(folder / "cache"))


def losses(trainer: Any) -> list[float]:
    trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


@pytest.mark.parametrize("name", ["sft.parquet", "sft.jsonl"])
def test_sft(scored: Path, tmp_path: Path, name: str) -> None:
    data = written(scored, name, tmp_path)
    assert len(data) == 16
    words = tokenizer()
    config = SFTConfig(output_dir=str(tmp_path / "out"), **COMMON)
    found = losses(SFTTrainer(model=model(words), args=config, train_dataset=data, processing_class=words))
    assert len(found) == 3 and all(map(math.isfinite, found))


def test_dpo(scored: Path, tmp_path: Path) -> None:
    data = written(scored, "pairs.parquet", tmp_path)
    assert len(data) == 16
    words = tokenizer()
    config = DPOConfig(output_dir=str(tmp_path / "out"), **COMMON)
    trainer = DPOTrainer(
        model=model(words), ref_model=model(words), args=config, train_dataset=data, processing_class=words
    )
    found = losses(trainer)
    assert len(found) == 3 and all(map(math.isfinite, found))
