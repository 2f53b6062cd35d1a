"""Key/value caches of left-padded batches: joining two, and cutting the padding that all sequences share.

Only caches whose layers all keep every position (`DynamicLayer`) can be joined; those with a sliding window or a
recurrent state count positions in a way of their own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def joinable(cache: Any) -> bool:
    """Return whether `join` and `cut` know the layers of a cache."""
    from transformers.cache_utils import DynamicLayer

    return all(type(layer) is DynamicLayer for layer in cache.layers)


def _padded(states: Tensor, width: int) -> Tensor:
    """Return keys or values [B, H, T, D] with zeros on the left, `width` positions in all."""
    return torch.nn.functional.pad(states, (0, 0, width - states.shape[-2], 0))


def join(cache: Any, mask: Tensor, more: Any, more_mask: Tensor) -> tuple[Any, Tensor]:
    """Return the cache and mask of two batches as one: `cache` grows by the sequences of `more`, which is spent.

    `mask`, `more_mask`: int64 [B, T]. Both are padded on the left to the longer of the two.
    """
    width = max(mask.shape[1], more_mask.shape[1])
    for layer, other in zip(cache.layers, more.layers, strict=True):
        layer.keys = torch.cat([_padded(layer.keys, width), _padded(other.keys, width)])
        layer.values = torch.cat([_padded(layer.values, width), _padded(other.values, width)])
    pads = [torch.nn.functional.pad(one, (width - one.shape[1], 0)) for one in (mask, more_mask)]
    return cache, torch.cat(pads)


def cut(cache: Any, mask: Tensor) -> Tensor:
    """Remove the positions at the left that are padding in every sequence; return the mask that remains."""
    first = int(mask.argmax(dim=1).min())
    if first:
        for layer in cache.layers:
            layer.keys, layer.values = layer.keys[..., first:, :], layer.values[..., first:, :]
    return mask[:, first:]
