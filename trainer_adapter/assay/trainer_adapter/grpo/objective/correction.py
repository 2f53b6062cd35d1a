"""Corrections for a generator whose policy is not the trainer's, by importance ratios rho = p_old / p_rollout.

    token_truncate     min(rho_t, high)                         TIS
    token_mask         rho_t where low <= rho_t <= high, else 0 IcePop, MIS
    sequence_truncate  min(prod rho, high)
    sequence_mask      prod rho where in [low, high], else 0    long sequences fall out: a product of many ratios
    geometric_mask     rho_t where the geometric mean of the sequence is in [low, high], else 0
A rollout log-prob that is missing (NaN) counts as ratio 1 and is reported. Ratios are detached and multiply `w_pg`.

Effective sample size, (sum w)^2 / (n sum w^2), from three sums that add over micro-batches and ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.segments import per_token, segment_mean, segment_sum

Mode = Literal["none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask", "geometric_mask"]
MODES = ("none", "token_truncate", "token_mask", "sequence_truncate", "sequence_mask", "geometric_mask")
LOG_RATIO_BOUND = 20.0


@dataclass(frozen=True)
class Correction:
    """A correction of N packed tokens.

    `ratio`: [N], multiplies `w_pg`. `raw`: [N], the ratios before truncation and masks, bounded only by
    `LOG_RATIO_BOUND`. `missing`: number of tokens without a rollout log-prob.
    """

    ratio: Tensor
    raw: Tensor
    missing: int


def rollout_correction(
    old: Tensor, rollout: Tensor, offsets: Tensor, *, mode: Mode, low: float = 0.0, high: float = 2.0
) -> Correction:
    """Return the correction of N packed tokens.

    `old`, `rollout`: fp32 [N], log-probs of the same tokens at the same temperature; `offsets`: int64 [S + 1].
    """
    missing = rollout.isnan()
    log_ratio = torch.where(missing, 0.0, old.detach() - rollout).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    raw = log_ratio.exp()
    ratio = _corrected(log_ratio, offsets, mode, low, high)
    return Correction(ratio, raw, int(missing.sum()))


def _corrected(log_ratio: Tensor, offsets: Tensor, mode: Mode, low: float, high: float) -> Tensor:
    ratio = log_ratio.exp()
    if mode == "none":
        return torch.ones_like(ratio)
    if mode == "token_truncate":
        return ratio.clamp(max=high)
    if mode == "token_mask":
        return _band(ratio, ratio, low, high)
    if mode == "geometric_mask":
        return _band(per_token(segment_mean(log_ratio, offsets).exp(), offsets), ratio, low, high)
    product = segment_sum(log_ratio, offsets).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND).exp()
    if mode == "sequence_truncate":
        return per_token(product.clamp(max=high), offsets)
    if mode == "sequence_mask":
        return per_token(_band(product, product, low, high), offsets)
    raise ValueError(f"no such correction: {mode}")


def _band(judged: Tensor, ratio: Tensor, low: float, high: float) -> Tensor:
    return torch.where((judged >= low) & (judged <= high), ratio, 0.0)


@dataclass(frozen=True)
class Ess:
    """Sums of weights, to be added over micro-batches and ranks before `share` is read."""

    count: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, weights: Tensor) -> Ess:
        """Return the sums of importance weights, one per token or one per sequence."""
        wide = weights.detach().to(torch.float64)
        return cls(float(wide.numel()), float(wide.sum()), float(wide.square().sum()))

    def __add__(self, other: Ess) -> Ess:
        return Ess(self.count + other.count, self.total + other.total, self.squares + other.squares)

    @property
    def share(self) -> float:
        """Effective sample size over n, in (0, 1]: 1 where all weights are equal, 0 where there are none."""
        if self.squares == 0.0:
            return 0.0
        return self.total * self.total / (self.count * self.squares)
