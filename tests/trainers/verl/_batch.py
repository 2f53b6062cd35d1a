"""verl's own configuration from the recipe page, its own reward worker, and batches made by hand."""

from __future__ import annotations

import functools
import re
import string
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import verl
from hydra import compose, initialize_config_dir
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from verl import DataProto
from verl.experimental.reward_loop.reward_loop import migrate_legacy_reward_impl

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/trainers.md").read_text()
MANAGERS = {
    "naive": ["reward.reward_manager.name=naive"],
    "dapo": ["reward.reward_manager.name=dapo"],
    "rate_limited": ["reward.reward_manager.name=rate_limited", "+reward.max_concurrent=64"],
    "ours": ["@page"],
}
PROMPT, RESPONSE = 4, 40


def recipe(which: int) -> list[str]:
    """The overrides in one of the page's shell blocks, as a shell would pass them."""
    block = re.findall(r"```sh\n(.*?)```", PAGE[PAGE.index("## verl") :], re.DOTALL)[which]
    return [line.strip().rstrip("\\").strip().strip("'") for line in block.splitlines()]


def configured(url: str, manager: str = "naive", *more: str) -> Any:
    """verl's `ppo_trainer` with the page's lines, and the service's URL."""
    chosen = recipe(1) if manager == "ours" else MANAGERS[manager]
    lines = [line.replace("http://scorer:8700", url) for line in recipe(0)]
    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer/config"), version_base=None):
        overrides = [f"actor_rollout_ref.model.path={tokenizer_folder()}", *lines, *chosen, *more]
        return migrate_legacy_reward_impl(compose("ppo_trainer", overrides=overrides))


@functools.cache
def tokenizer() -> PreTrainedTokenizerFast:
    """One token a character."""
    vocabulary = {token: index for index, token in enumerate(["<pad>", "<unk>", "<eos>", *string.printable])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    words.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


@functools.cache
def tokenizer_folder() -> str:
    """Where verl loads it from."""
    folder = tempfile.mkdtemp(prefix="assay-verl-")
    tokenizer().save_pretrained(folder)
    return folder


def batch(said: Sequence[str], truths: Sequence[Any]) -> DataProto:
    """Rollouts as generation leaves them: ids padded on the right, columns as arrays of objects."""
    encoded = [tokenizer().encode(text) for text in said]
    responses = torch.tensor([ids + [0] * (RESPONSE - len(ids)) for ids in encoded])
    mask = torch.tensor([[1] * (PROMPT + len(ids)) + [0] * (RESPONSE - len(ids)) for ids in encoded])
    prompts = torch.full((len(said), PROMPT), 3)
    columns: dict[str, list[Any]] = {
        "data_source": ["sums"] * len(said),
        "reward_model": [{"style": "rule", "ground_truth": truth} for truth in truths],
        "extra_info": [{"index": index, "split": "train"} for index in range(len(said))],
        "raw_prompt": [[{"role": "user", "content": "?"}]] * len(said),
    }
    return DataProto.from_dict(
        tensors={"prompts": prompts, "responses": responses, "attention_mask": mask},
        non_tensors={name: objects(values) for name, values in columns.items()},
    )


def objects(values: Sequence[Any]) -> Any:
    """An array of objects, as a dataset's columns are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
