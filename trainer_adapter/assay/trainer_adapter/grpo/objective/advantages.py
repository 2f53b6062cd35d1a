"""Group advantages: how much better a completion is than the others of its prompt.

For a group with rewards r, over its n scored members:
    x = r - min(r);  c = x - mean(x)                 equal rewards give exactly 0, in any precision
    group_std    c / (std(x, ddof) + eps)            GRPO, arXiv:2402.03300
    group        c                                   Dr. GRPO, arXiv:2503.20783
    rloo         c * n/(n-1) = r - mean of the others  RLOO, arXiv:2402.14740
    whiten       (c - mean) / std over the window    REINFORCE++ with a group baseline, arXiv:2501.03262
A group is *live* if max - min of its scores exceeds `spread`: a range, not a rounded std, and of the score
(correctness), so that length or format shaping cannot make an all-wrong group live. A group that is not live, a group
of one and a completion without a verdict (NaN) have an advantage of exactly 0; a completion without a verdict is also
left out of the baseline of its group. Not covered: value functions, GAE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.segments import groups_matrix, lengths_of, member_mask

Kind = Literal["group_std", "group", "rloo", "whiten"]
Reduce = Callable[[Tensor], Tensor]
"""Sum of a tensor over all ranks; the identity on a single rank."""
EPS = 1e-4
SPREAD = 1e-6


@dataclass(frozen=True)
class Advantages:
    """Advantages of S completions in G groups.

    `values`: [S], the dtype of the rewards; `live`: bool [G]; `scored`: int [G], completions with a verdict; `mean`,
    `std`: [G], of the rewards, 0 for a group without a verdict.
    """

    values: Tensor
    live: Tensor
    scored: Tensor
    mean: Tensor
    std: Tensor


def alone(value: Tensor) -> Tensor:
    """Return `value`: the reduction of a single rank."""
    return value


def group_advantages(
    rewards: Tensor,
    offsets: Tensor,
    *,
    kind: Kind = "group_std",
    scores: Tensor | None = None,
    eps: float = EPS,
    spread: float = SPREAD,
    ddof: int = 1,
    reduce: Reduce = alone,
) -> Advantages:
    """Return the advantages of groups, in the dtype of `rewards`.

    Args:
        rewards: float [S], group by group; NaN = no verdict.
        offsets: int64 [G + 1], where each group starts.
        scores: float [S], by which a group is live or not; where NaN or None, the reward is used.
        eps: added to the standard deviation; where both are 0, so is the advantage.
        spread: the largest max - min of scores of a group that is not live.
        ddof: of the standard deviation.
        reduce: sum over ranks, for `whiten`.
    """
    lengths = lengths_of(offsets)
    if kind not in ("group_std", "group", "rloo", "whiten"):
        raise ValueError(f"no such advantage: {kind}")
    table = groups_matrix(rewards, offsets, torch.nan)
    valid = ~table.isnan()
    count = valid.sum(1)
    judged = rewards if scores is None else torch.where(scores.isnan(), rewards, scores)
    live = (_range(groups_matrix(judged, offsets, torch.nan), valid) > spread) & (count > 1)
    low = _low(table, valid)
    shifted = torch.where(valid, table - low[:, None], 0.0)
    centred = _centred(shifted, valid, count)
    std = _std(centred, count, ddof)
    keep = valid & live[:, None]
    values = torch.where(keep, _scaled(centred, std, count, kind, eps), 0.0)
    if kind == "whiten":
        uneven = (shifted > 0).any(1)[:, None]
        values = torch.where(keep & uneven, _whitened(values, keep, reduce), 0.0)
    mean = low + shifted.sum(1) / count.clamp(min=1)
    members = member_mask(lengths, table.shape[1])
    return Advantages(values[members], live, count, torch.where(count > 0, mean, 0.0), std)


def _low(table: Tensor, valid: Tensor) -> Tensor:
    if not table.shape[1]:
        return table.new_zeros(table.shape[0])
    low = torch.where(valid, table, torch.inf).amin(1)
    return torch.where(valid.any(1), low, 0.0)


def _range(judged: Tensor, valid: Tensor) -> Tensor:
    if not judged.shape[1]:
        return judged.new_zeros(judged.shape[0])
    high = torch.where(valid, judged, -torch.inf).amax(1)
    low = torch.where(valid, judged, torch.inf).amin(1)
    return torch.where(valid.any(1), high - low, 0.0)


def _centred(shifted: Tensor, valid: Tensor, count: Tensor) -> Tensor:
    mean = shifted.sum(1) / count.clamp(min=1)
    return torch.where(valid, shifted - mean[:, None], 0.0)


def _std(centred: Tensor, count: Tensor, ddof: int) -> Tensor:
    return (centred.square().sum(1) / (count - ddof).clamp(min=1)).sqrt()


def _scaled(centred: Tensor, std: Tensor, count: Tensor, kind: Kind, eps: float) -> Tensor:
    if kind == "group_std":
        below = std[:, None] + eps
        return torch.where(below > 0, centred / below, 0.0)
    if kind == "rloo":
        return centred * (count.to(centred.dtype) / (count - 1).clamp(min=1))[:, None]
    return centred


def _whitened(values: Tensor, keep: Tensor, reduce: Reduce) -> Tensor:
    """Normalise over the window and all ranks in two passes: mean, then variance (ddof 0, eps 1e-8)."""
    total = reduce(torch.stack([keep.sum().to(values.dtype), values[keep].sum()]))
    count = total[0].clamp(min=1)
    centred = values - total[1] / count
    variance = reduce(centred[keep].square().sum()) / count
    return centred * torch.rsqrt(variance + 1e-8)
