"""Rows and prompts: JSON lines in, token ids out, in an order that is a function of the seed alone.

Draw d of a run is a fixed row, whatever happened before: resuming needs no more state than the number of draws.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from assay.client import ConfigurationError
from assay.client.templates import template
from assay.trainer_adapter.grpo.config import Data


@dataclass(frozen=True)
class Prompt:
    """A row, its prompt as text and as ids."""

    row: Mapping[str, Any]
    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Draw:
    """Prompt number `number` of the run."""

    number: int
    prompt: Prompt


class Prompts:
    """The prompts of one file."""

    def __init__(self, prompts: list[Prompt], *, seed: int, skipped: int = 0) -> None:
        if not prompts:
            raise ConfigurationError(
                "no row is left to train on" + (f": {skipped} prompts are too long" if skipped else "")
            )
        self.prompts, self.skipped = prompts, skipped
        self._seed = seed
        self._orders: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self.prompts)

    def draw(self, number: int) -> Draw:
        """Draw `number`: epochs of all prompts, each in an order of its own."""
        epoch, place = divmod(number, len(self.prompts))
        if epoch not in self._orders:
            random = torch.Generator().manual_seed((self._seed * 1_000_003 + epoch) % 2**63)
            self._orders = {epoch: torch.randperm(len(self.prompts), generator=random).tolist()}
        return Draw(number, self.prompts[self._orders[epoch][place]])


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """The rows of a JSON lines file. Raises `ConfigurationError` naming the line."""
    rows, number = [], 0
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                number += 1
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise ValueError("not an object")
                    rows.append(row)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise ConfigurationError(f"{path}: line {number} is not a JSON object") from None
    return rows


def load_prompts(path: str | Path, data: Data, tokenizer: Any, *, seed: int) -> Prompts:
    """Every row's prompt; prompts over `max_prompt_tokens` are left out and counted."""
    fill = template(data.prompt)
    prompts, skipped = [], 0
    for row in read_rows(path):
        text = str(fill(row))
        ids = _encode(text, data, tokenizer)
        if len(ids) > data.max_prompt_tokens:
            skipped += 1
        else:
            prompts.append(Prompt(row, text, tuple(ids)))
    return Prompts(prompts, seed=seed, skipped=skipped)


def _encode(text: str, data: Data, tokenizer: Any) -> list[int]:
    if not data.chat:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])
    messages = [{"role": "system", "content": data.system}] if data.system else []
    written = tokenizer.apply_chat_template(
        [*messages, {"role": "user", "content": text}], tokenize=False, add_generation_prompt=True
    )
    return list(tokenizer(written, add_special_tokens=False)["input_ids"])
