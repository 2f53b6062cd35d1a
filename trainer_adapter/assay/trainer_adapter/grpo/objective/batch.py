"""From samples to micro-batches: right-padded ids for the model, packed rows for the loss.

A row is a token that the policy chose; prompts, padding and forced tokens are not rows, so no mean can count them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.segments import offsets_of
from assay.trainer_adapter.grpo.rollout.samples import Sample


@dataclass(frozen=True)
class Entry:
    """A sample with its prompt and its advantage; `keep` says whether it carries policy gradient."""

    sample: Sample
    prompt: tuple[int, ...]
    advantage: float
    keep: bool

    @property
    def width(self) -> int:
        """Tokens of the whole sequence."""
        return len(self.prompt) + len(self.sample.ids)

    @property
    def rows(self) -> int:
        """Tokens that train."""
        return sum(self.sample.mask)


@dataclass(frozen=True)
class Batch:
    """A micro-batch. `rows` are indices into the flattened hidden states, `offsets` those of its sequences."""

    entries: tuple[Entry, ...]
    ids: Tensor
    mask: Tensor
    rows: Tensor
    tokens: Tensor
    rollout: Tensor
    offsets: Tensor

    @property
    def advantages(self) -> Tensor:
        """One a sequence, fp32."""
        return torch.tensor([entry.advantage for entry in self.entries], device=self.ids.device)

    @property
    def keep(self) -> Tensor:
        """One a sequence."""
        return torch.tensor([entry.keep for entry in self.entries], dtype=torch.bool, device=self.ids.device)


def micro_batches(entries: Sequence[Entry], *, micro_tokens: int, pad_id: int, device: torch.device) -> Iterator[Batch]:
    """Batches of similar lengths, at most `micro_tokens` wide times high (one sequence at least)."""
    order = sorted(range(len(entries)), key=lambda index: (entries[index].width, index), reverse=True)
    part: list[Entry] = []
    for index in order:
        entry = entries[index]
        if part and part[0].width * (len(part) + 1) > micro_tokens:
            yield _batch(part, pad_id, device)
            part = []
        part.append(entry)
    if part:
        yield _batch(part, pad_id, device)


def _batch(entries: list[Entry], pad_id: int, device: torch.device) -> Batch:
    width = max(entry.width for entry in entries)
    ids, mask, rows, tokens, rollout = [], [], [], [], []
    for line, entry in enumerate(entries):
        if not entry.prompt:
            raise ValueError("a prompt without a token: nothing predicts its completion's first")
        whole = [*entry.prompt, *entry.sample.ids]
        ids.append(whole + [pad_id] * (width - len(whole)))
        mask.append([1] * len(whole) + [0] * (width - len(whole)))
        start = line * width + len(entry.prompt) - 1
        for place, (token, logp, own) in enumerate(
            zip(entry.sample.ids, entry.sample.logps, entry.sample.mask, strict=True)
        ):
            if own:
                rows.append(start + place)
                tokens.append(token)
                rollout.append(logp)
    lengths = torch.tensor([entry.rows for entry in entries], device=device)

    def at(values: list[int] | list[list[int]]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=device)

    return Batch(
        tuple(entries), at(ids), at(mask), at(rows), at(tokens),
        torch.tensor(rollout, dtype=torch.float32, device=device), offsets_of(lengths),
    )  # fmt: skip
