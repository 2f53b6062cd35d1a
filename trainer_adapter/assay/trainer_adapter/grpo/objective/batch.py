"""From samples to micro-batches: right-padded ids for the model, packed tokens for the loss.

Packed tokens are those that the policy chose; prompts, padding and forced tokens are left out, so no mean counts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.segments import offsets_of
from assay.trainer_adapter.grpo.rollout.samples import Sample


@dataclass(eq=False)
class Entry:
    """A sample in an update: its prompt, its advantage, and the parts that it has in the loss.

    `keep`: it carries policy gradient; `kl`: it carries a KL term; `counted`: a denominator counts it. `old_logps`,
    `ref_logps`: fp32, one per token that trains, of the policy before the update and of the reference model.
    """

    sample: Sample
    prompt: tuple[int, ...]
    advantage: float = 0.0
    keep: bool = False
    kl: bool = False
    counted: bool = False
    old_logps: Tensor | None = None
    ref_logps: Tensor | None = None

    @property
    def width(self) -> int:
        """Tokens of the whole sequence, prompt included."""
        return len(self.prompt) + len(self.sample.ids)

    @property
    def trained(self) -> int:
        """Tokens that train: those that the policy chose."""
        return sum(self.sample.mask)


@dataclass(frozen=True)
class Batch:
    """A micro-batch of B sequences of at most T tokens, N of which train.

    `ids`, `mask`: int64 [B, T], right-padded. `positions`: int64 [N], indices into the flattened hidden states from
    which the trained tokens are predicted. `tokens`: int64 [N]. `rollout`: fp32 [N], the generator's log-probs (NaN
    where it has none). `offsets`: int64 [B + 1] of the packed tokens.
    """

    entries: tuple[Entry, ...]
    ids: Tensor
    mask: Tensor
    positions: Tensor
    tokens: Tensor
    rollout: Tensor
    offsets: Tensor

    @property
    def advantages(self) -> Tensor:
        """fp32 [B]."""
        return torch.tensor([entry.advantage for entry in self.entries], device=self.ids.device)

    @property
    def keep(self) -> Tensor:
        """bool [B]: sequences that carry policy gradient."""
        return torch.tensor([entry.keep for entry in self.entries], dtype=torch.bool, device=self.ids.device)

    @property
    def kl(self) -> Tensor:
        """bool [B]: sequences that carry a KL term."""
        return torch.tensor([entry.kl for entry in self.entries], dtype=torch.bool, device=self.ids.device)

    @property
    def old_logps(self) -> Tensor | None:
        """fp32 [N], or None where they were not computed."""
        return _joined([entry.old_logps for entry in self.entries])

    @property
    def ref_logps(self) -> Tensor | None:
        """fp32 [N], or None where they were not computed."""
        return _joined([entry.ref_logps for entry in self.entries])


def _joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    known = [part for part in parts if part is not None]
    return torch.cat(known) if known and len(known) == len(parts) else None


def micro_batches(entries: Sequence[Entry], *, micro_tokens: int, pad_id: int, device: torch.device) -> Iterator[Batch]:
    """Yield batches of sequences of similar lengths, of at most `micro_tokens` padded tokens (or one sequence)."""
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
    ids, mask, positions, tokens, rollout = [], [], [], [], []
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
                positions.append(start + place)
                tokens.append(token)
                rollout.append(logp)
    lengths = torch.tensor([entry.trained for entry in entries], device=device)

    def at(values: list[int] | list[list[int]]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=device)

    return Batch(
        entries=tuple(entries),
        ids=at(ids),
        mask=at(mask),
        positions=at(positions),
        tokens=at(tokens),
        rollout=torch.tensor(rollout, dtype=torch.float32, device=device),
        offsets=offsets_of(lengths),
    )
