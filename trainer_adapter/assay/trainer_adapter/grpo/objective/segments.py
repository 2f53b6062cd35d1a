"""Packed sequences: valid tokens only, those of sequence i at `offsets[i]:offsets[i + 1]`.

Packing leaves no padding that could enter a mean: a masked token is left out. Reductions are differentiable,
deterministic on every device (no atomics), and an empty sequence reduces to 0.
"""

from __future__ import annotations

import torch
from torch import Tensor


def offsets_of(lengths: Tensor) -> Tensor:
    """Return `[0, l0, l0 + l1, …]`, int64 [S + 1], on the device of `lengths` [S]."""
    return torch.nn.functional.pad(lengths.to(torch.int64).cumsum(0), (1, 0))


def lengths_of(offsets: Tensor) -> Tensor:
    """Return the number of tokens of each sequence, int64 [S]."""
    return offsets[1:] - offsets[:-1]


def segment_sum(values: Tensor, offsets: Tensor) -> Tensor:
    """Return the sum of `values` [N] over each sequence, [S]; 0 for one without tokens."""
    if values.numel() == 0:
        return values.new_zeros(offsets.numel() - 1)
    return torch.segment_reduce(values, "sum", lengths=lengths_of(offsets), initial=0.0)


def segment_mean(values: Tensor, offsets: Tensor) -> Tensor:
    """Return the mean of `values` [N] over each sequence, [S]; 0 for one without tokens."""
    count = lengths_of(offsets).clamp(min=1).to(values.dtype)
    return segment_sum(values, offsets) / count


def per_token(per_sequence: Tensor, offsets: Tensor) -> Tensor:
    """Return for each token, [N], the value of its sequence, from `per_sequence` [S]."""
    return per_sequence.repeat_interleave(lengths_of(offsets), output_size=int(offsets[-1]))


def groups_matrix(values: Tensor, offsets: Tensor, fill: float) -> Tensor:
    """Return `values` [S] as a matrix [G, widest group], one group per line, padded with `fill`."""
    lengths = lengths_of(offsets)
    width = int(lengths.max()) if lengths.numel() else 0
    matrix = values.new_full((lengths.numel(), width), fill)
    matrix[member_mask(lengths, width)] = values
    return matrix


def member_mask(lengths: Tensor, width: int) -> Tensor:
    """Return bool [G, width]: where a matrix of groups holds a member."""
    return torch.arange(width, device=lengths.device)[None] < lengths[:, None]
