"""Rows and prompts: a row's own fault costs that row alone, and no prompt is empty."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from assay.client import ConfigurationError
from assay.trainer_adapter.grpo.objective.batch import Entry, micro_batches
from assay.trainer_adapter.grpo.rollout.data import load_prompts
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.run import tiny
from assay.trainer_adapter.grpo.run.config import Data


def written(folder: Path, *questions: str) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"question": one}) + "\n" for one in questions))
    return path


def data(path: Path, **more: Any) -> Data:
    return Data(**{"train": str(path), "prompt": "{question}", "chat": False, **more})


def test_an_empty_prompt_is_left_out_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "1+1=", "", "2+2=")
    prompts = load_prompts(path, data(path), tiny.tokenizer(), seed=0)
    assert [one.text for one in prompts.prompts] == ["1+1=", "2+2="] and prompts.faults == 1
    only = written(tmp_path, "")
    with pytest.raises(ConfigurationError, match="1 rows give no prompt"):
        load_prompts(only, data(only), tiny.tokenizer(), seed=0)


def test_a_batch_takes_no_prompt_without_a_token() -> None:
    entry = Entry(Sample(0, 0, [3], [True], [0.0], "1", truncated=False), (), 1.0, True)
    with pytest.raises(ValueError, match="without a token"):
        list(micro_batches([entry], micro_tokens=8, pad_id=0, device=torch.device("cpu")))


def test_a_lone_surrogate_is_its_rows_fault(tmp_path: Path) -> None:
    path = written(tmp_path, "1+1=", "\ud800")
    prompts = load_prompts(path, data(path), tiny.tokenizer(), seed=0)
    assert len(prompts) == 1 and prompts.faults == 1


def test_a_row_that_its_template_cannot_read_is_its_own_fault(tmp_path: Path) -> None:
    path = written(tmp_path, '"1+1="', "{no json")
    prompts = load_prompts(path, data(path, prompt="{question!json}"), tiny.tokenizer(), seed=0)
    assert [one.text for one in prompts.prompts] == ["1+1="] and prompts.faults == 1


def test_chat_without_a_template_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "1+1=")
    with pytest.raises(ConfigurationError, match="no chat template; chat = false"):
        load_prompts(path, data(path, chat=True), tiny.tokenizer(), seed=0)


def test_a_chat_template_that_refuses_is_named(tmp_path: Path) -> None:
    path, words = written(tmp_path, "1+1="), tiny.tokenizer()
    words.chat_template = "{{ raise_exception('no system role') }}"
    with pytest.raises(ConfigurationError, match="no system role"):
        load_prompts(path, data(path, chat=True), words, seed=0)
