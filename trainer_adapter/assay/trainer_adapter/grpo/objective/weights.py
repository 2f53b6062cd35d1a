"""Two fp32 weights per token, fixed before the window is split: L = sum_t (w_pg * policy_loss_t + w_kl * kl_t).

The weights hold masks, the normaliser over the whole optimizer window and all ranks, and the correction for the
generator's policy. Micro-batches, accumulation, padding and ranks therefore do not change a gradient. `ranks` undoes
the mean over ranks that DDP and FSDP compute.

    sequence   1 / (|o_i| * sequences)       GRPO, GSPO: mean over sequences of the mean over tokens
    tokens     1 / tokens                    DAPO; BNPO over the window instead of the micro-batch
    constant   1 / (sequences * max_tokens)  Dr. GRPO: never the padded width
    sum        1 / sequences                 LUSPO: mean over sequences of the sum over tokens
A denominator counts the sequences that are `counted`: never one whose tokens are all masked; one of a group that is
not live only under `denominator = "all"`, as in the papers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.advantages import Reduce, alone
from assay.trainer_adapter.grpo.objective.segments import lengths_of, per_token

Normaliser = Literal["sequence", "tokens", "constant", "sum"]
NORMALISERS = ("sequence", "tokens", "constant", "sum")


@dataclass(frozen=True)
class Totals:
    """Sequences and tokens of a window over all ranks: the denominators."""

    sequences: float
    tokens: float


@dataclass(frozen=True)
class Weights:
    """Weights of the two loss terms, [N], fp32 by default."""

    w_pg: Tensor
    w_kl: Tensor


def totals(offsets: Tensor, counted: Tensor, *, reduce: Reduce = alone) -> Totals:
    """Return the totals over all ranks of the sequences in `counted` (bool [S]) that have tokens; float64 sums."""
    lengths = lengths_of(offsets) * counted
    local = torch.stack([(lengths > 0).sum(), lengths.sum()]).to(torch.float64)
    sequences, tokens = reduce(local).tolist()
    return Totals(sequences, tokens)


def token_weights(
    offsets: Tensor,
    whole: Totals,
    *,
    normaliser: Normaliser,
    keep: Tensor,
    max_tokens: int,
    beta: float = 0.0,
    kl_keep: Tensor | None = None,
    ratio: Tensor | None = None,
    ranks: int = 1,
    dtype: torch.dtype = torch.float32,
) -> Weights:
    """Return the weights of N packed tokens.

    Args:
        offsets: int64 [S + 1] of the tokens at hand, a part of the window or all of it.
        whole: the window's `totals`.
        keep: bool [S], sequences that carry policy gradient.
        max_tokens: the length cap of a completion, for `constant`.
        beta: coefficient of the KL term.
        kl_keep: bool [S], sequences that carry KL; default: `keep`.
        ratio: [N] detached correction of the rollout policy (`rollout_correction`).
        ranks: data-parallel ranks whose gradients will be averaged; 1 where they are summed.
    """
    base = _base(offsets, whole, normaliser=normaliser, max_tokens=max_tokens) * ranks
    pg = base * per_token(keep.to(torch.float64), offsets)
    if ratio is not None:
        pg = pg * ratio
    kl = base * per_token((keep if kl_keep is None else kl_keep).to(torch.float64), offsets) * beta
    return Weights(pg.to(dtype), kl.to(dtype))


def _base(offsets: Tensor, whole: Totals, *, normaliser: Normaliser, max_tokens: int) -> Tensor:
    """Return the normaliser of each token, float64 [N]; an empty window divides by 1."""
    lengths = lengths_of(offsets).to(torch.float64)
    sequences, tokens = max(whole.sequences, 1.0), max(whole.tokens, 1.0)
    per_sequence = {
        "sequence": 1.0 / (lengths.clamp(min=1) * sequences),
        "tokens": torch.full_like(lengths, 1.0 / tokens),
        "constant": torch.full_like(lengths, 1.0 / (sequences * max_tokens)),
        "sum": torch.full_like(lengths, 1.0 / sequences),
    }
    if normaliser not in per_sequence:
        raise ValueError(f"no such normaliser: {normaliser}")
    return per_token(per_sequence[normaliser], offsets)
