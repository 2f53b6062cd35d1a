"""Counter-based random numbers, and sampling by them.

The uniform of token t of sample i of draw d is a hash of (seed, stream, d, i, t). A completion therefore
does not depend on its batch or rank, and resuming needs no state of a generator.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_MASK = (1 << 64) - 1


def _mix(value: int) -> int:
    """Return the next state of splitmix64 (Steele et al., 2014)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def key(*parts: int) -> int:
    """Return a key of 63 bits, which fits a torch int64."""
    value = 0
    for part in parts:
        value = _mix(value ^ (part & _MASK))
    return value >> 1


def uniforms(keys: Tensor, step: int | Sequence[int]) -> Tensor:
    """Return one fp64 number in [0, 1) per key (int64 [B]), for token `step`, or for the token of each key."""
    steps = [step] if isinstance(step, int) else step
    value = keys ^ torch.tensor([_mix(one) >> 1 for one in steps])
    value = _wrapped(value ^ _shift(value, 30), 0xBF58476D1CE4E5B9)
    value = _wrapped(value ^ _shift(value, 27), 0x94D049BB133111EB)
    value = value ^ _shift(value, 31)
    return _shift(value, 11).to(torch.float64) / float(1 << 53)


def _shift(value: Tensor, bits: int) -> Tensor:
    """Return int64 values shifted right as if unsigned."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def _wrapped(value: Tensor, factor: int) -> Tensor:
    """Return a product modulo 2^64, as torch's int64 wraps."""
    return value * (factor - (1 << 64) if factor >= 1 << 63 else factor)


def choose(logits: Tensor, random: Tensor, *, temperature: float) -> tuple[Tensor, Tensor]:
    """Return a token per sequence by inverse CDF, and its log-prob at the temperature (0: the most likely token).

    `logits`: fp32 [B, V]; `uniform`: fp64 [B]. Both results are [B].

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
