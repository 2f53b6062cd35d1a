"""Random numbers as a function of what they are for, and sampling by them.

The uniform of token t of sample i of draw d is a hash of (seed, stream, d, i, t). So a completion does not
depend on which others share its batch or rank, resuming needs no generator's state, and a rerun is the same run.
"""

from __future__ import annotations

import torch
from torch import Tensor

_MASK = (1 << 64) - 1


def _mix(value: int) -> int:
    """A step of splitmix64 (Steele et al., 2014)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def key(*parts: int) -> int:
    """A key of 63 bits, good for a torch int64."""
    value = 0
    for part in parts:
        value = _mix(value ^ (part & _MASK))
    return value >> 1


def uniforms(keys: Tensor, step: int) -> Tensor:
    """One number in [0, 1) per key (int64), for token `step`; fp64."""
    value = keys ^ (_mix(step) >> 1)
    value = _wrapped(value ^ _shift(value, 30), 0xBF58476D1CE4E5B9)
    value = _wrapped(value ^ _shift(value, 27), 0x94D049BB133111EB)
    value = value ^ _shift(value, 31)
    return _shift(value, 11).to(torch.float64) / float(1 << 53)


def _shift(value: Tensor, bits: int) -> Tensor:
    """A logical shift to the right of what int64 holds as unsigned."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def _wrapped(value: Tensor, factor: int) -> Tensor:
    """A product modulo 2^64; torch's int64 wraps."""
    return value * (factor - (1 << 64) if factor >= 1 << 63 else factor)


def choose(logits: Tensor, random: Tensor, *, temperature: float) -> tuple[Tensor, Tensor]:
    """A token per row of fp32 `logits` by inverse CDF, and its log-prob at that temperature; 0: the most likely.

    A token of probability 0 is never chosen.
    """
    if temperature == 0:
        every = torch.log_softmax(logits.float(), -1)
        best = every.argmax(-1)
        return best, every.gather(-1, best[:, None])[:, 0]
    every = torch.log_softmax(logits.float() / temperature, -1)
    cdf = every.double().exp().cumsum(-1)
    target = random.to(cdf.device)[:, None] * cdf[:, -1:]
    token = torch.searchsorted(cdf, target, right=True)[:, 0].clamp(max=cdf.shape[1] - 1)
    return token, every.gather(-1, token[:, None])[:, 0]
