"""Packed sequences: one row per valid token, sequence i in rows `offsets[i]:offsets[i+1]`.

Packing leaves no padding that could leak into a mean: a masked token is simply not a row. Reductions
are differentiable, deterministic on every device (no atomics), and an empty sequence reduces to 0.
"""

from __future__ import annotations

import torch
from torch import Tensor


def offsets_of(lengths: Tensor) -> Tensor:
    """`[0, l0, l0+l1, …]` as int64, on the device of `lengths`."""
    return torch.nn.functional.pad(lengths.to(torch.int64).cumsum(0), (1, 0))


def lengths_of(offsets: Tensor) -> Tensor:
    """Rows of each sequence."""
    return offsets[1:] - offsets[:-1]


def segment_sum(values: Tensor, offsets: Tensor) -> Tensor:
    """Sum of each sequence; 0 where it has no rows."""
    if values.numel() == 0:
        return values.new_zeros(offsets.numel() - 1)
    return torch.segment_reduce(values, "sum", lengths=lengths_of(offsets), initial=0.0)


def segment_mean(values: Tensor, offsets: Tensor) -> Tensor:
    """Mean of each sequence over its own rows; 0 where it has none (never 0/0)."""
    count = lengths_of(offsets).clamp(min=1).to(values.dtype)
    return segment_sum(values, offsets) / count


def spread(per_sequence: Tensor, offsets: Tensor) -> Tensor:
    """The value of a sequence on each of its rows."""
    return per_sequence.repeat_interleave(lengths_of(offsets), output_size=int(offsets[-1]))


def groups_matrix(values: Tensor, offsets: Tensor, fill: float) -> Tensor:
    """Groups as the rows of a matrix, filled up with `fill`."""
    lengths = lengths_of(offsets)
    width = int(lengths.max()) if lengths.numel() else 0
    matrix = values.new_full((lengths.numel(), width), fill)
    matrix[member_mask(lengths, width)] = values
    return matrix


def member_mask(lengths: Tensor, width: int) -> Tensor:
    """True where a matrix of groups holds a member."""
    return torch.arange(width, device=lengths.device)[None] < lengths[:, None]
