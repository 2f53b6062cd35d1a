"""Prompts: rows in, token ids out, in an order that is a function of the seed alone.

Draw d of a run is a fixed row, so that the number of draws is all the state that resuming needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from assay.client import ConfigurationError
from assay.client.templates import Fill, RowFault, template
from assay.trainer_adapter.grpo.rollout.rows import read_rows
from assay.trainer_adapter.grpo.run.config import Data

EPOCHS_KEPT = 3
"""Orders of epochs that are kept: open groups may lie in several."""


@dataclass(frozen=True)
class Prompt:
    """A row, its prompt as text and as ids."""

    row: Mapping[str, Any]
    text: str
    ids: tuple[int, ...]
    messages: list[dict[str, Any]] | None = None
    """The messages of a prompt that is a chat; `text` is then their contents."""

    @property
    def said(self) -> str | list[dict[str, Any]]:
        """The prompt as an item has it."""
        return self.text if self.messages is None else self.messages


@dataclass(frozen=True)
class Draw:
    """Prompt number `number` of the run."""

    number: int
    prompt: Prompt


class Prompts:
    """The prompts of one file, in the order of a seed."""

    def __init__(self, prompts: list[Prompt], *, seed: int, skipped: int = 0, faults: int = 0) -> None:
        if not prompts:
            raise ConfigurationError(
                f"no row is left to train on: {skipped} prompts are too long, {faults} rows give no prompt"
            )
        self.prompts, self.skipped, self.faults = prompts, skipped, faults
        self._seed = seed
        self._orders: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self.prompts)

    def draw(self, number: int) -> Draw:
        """Return draw `number`: epochs over all prompts, each epoch in its own order."""
        return Draw(number, self.prompts[self.row_of(number)])

    def row_of(self, number: int) -> int:
        """Return the place in `prompts` of draw `number`."""
        epoch, place = divmod(number, len(self.prompts))
        if epoch not in self._orders:
            random = torch.Generator().manual_seed((self._seed * 1_000_003 + epoch) % 2**63)
            order = torch.randperm(len(self.prompts), generator=random).tolist()
            self._orders = {**dict(list(self._orders.items())[-EPOCHS_KEPT:]), epoch: order}
        return self._orders[epoch][place]


def load_prompts(path: str | Path, data: Data, tokenizer: Any, *, seed: int, split: str | None = None) -> Prompts:
    """Return the prompt of every row; prompts over `max_prompt_tokens` and rows without one are left out and counted.

    A row has no prompt if its template cannot be filled, if the text is not Unicode (a lone surrogate), or if it has no
    token, as a completion's first token is predicted from the prompt's last. `split`: of a data set that has several;
    default: `data.split`. Raises ConfigurationError.
    """
    fill = template(data.prompt)
    if data.chat and not getattr(tokenizer, "chat_template", None):
        raise ConfigurationError(
            "data.chat: the tokenizer has no chat template; chat = false takes the prompt as it is"
        )
    prompts, skipped, faults = [], 0, 0
    for row in read_rows(path, split=split or data.split, subset=data.subset):
        prompt = _prompt(row, fill, data, tokenizer)
        if prompt is None:
            faults += 1
        elif len(prompt.ids) > data.max_prompt_tokens:
            skipped += 1
        else:
            prompts.append(prompt)
    return Prompts(prompts, seed=seed, skipped=skipped, faults=faults)


def _prompt(row: Mapping[str, Any], fill: Fill, data: Data, tokenizer: Any) -> Prompt | None:
    """Return the prompt, or None where the row is at fault."""
    from jinja2 import TemplateError

    try:
        value = fill(row)
        messages = _messages(value)
        text = str(value) if messages is None else "\n".join(str(message["content"]) for message in messages)
        text.encode()
    except (RowFault, UnicodeEncodeError):
        return None
    if messages is not None and not data.chat:
        raise ConfigurationError(
            "data.chat = false: the prompt is a list of messages, and only a chat template has one"
        )
    try:
        ids = _encode(messages or [{"role": "user", "content": text}], data, tokenizer)
    except TemplateError as error:
        raise ConfigurationError(f"data.chat: the chat template: {error}") from None
    return Prompt(row, text, tuple(ids), messages) if ids else None


def _messages(value: Any) -> list[dict[str, Any]] | None:
    """Return a prompt that is a list of messages, or None. Raises `RowFault` for a list that is none."""
    if not isinstance(value, list):
        return None
    if not value or not all(isinstance(one, dict) and one.get("role") and "content" in one for one in value):
        raise RowFault("the prompt is a list, and not of messages")
    return [{key: member for key, member in message.items() if member is not None} for message in value]


def _encode(messages: list[dict[str, Any]], data: Data, tokenizer: Any) -> list[int]:
    if not data.chat:
        return list(tokenizer(messages[-1]["content"], add_special_tokens=False)["input_ids"])
    if data.system and messages[0]["role"] != "system":
        messages = [{"role": "system", "content": data.system}, *messages]
    written = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return list(tokenizer(written, add_special_tokens=False)["input_ids"])
