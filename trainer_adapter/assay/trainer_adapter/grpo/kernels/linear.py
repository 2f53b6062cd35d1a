"""The head and the loss together: hidden states in, a loss and its gradients out, logits only a tile at a time.

Tokens whose gradient is zero are left out first. Then, for a token-level loss, each chunk of tokens costs three matrix
products: logits = h W', the token kernel in place, dh = dz W, dW += dz' h; the loss is known inside the forward, so
nothing is computed twice. Sequence-level losses need every log-prob first, so they compute the logits twice (four
products). Tiles and accumulation are fp32; dW is rounded once, at the end.

The gradients are kept from the forward to the backward (dh [N, H], dW [V, H]); there is no second derivative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.kernels import logits as kernel
from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec
from assay.trainer_adapter.grpo.objective.precision import product32
from assay.trainer_adapter.grpo.objective.selection import (
    LossStats,
    part_of,
    scatter,
    select,
    slopes,
    tokens_with_gradient,
)

CHUNK = 4096
ALIGN = 64


@dataclass(frozen=True)
class KernelCall:
    """Settings of one call. `block` is for tests.

    `compute`: the type of the operands of the products; None: their own. Gradients come back in the operands' own
    types, so that a head kept in fp32 and run in bfloat16 has its gradient rounded nowhere.
    """

    spec: LossSpec
    temperature: float
    chunk: int = CHUNK
    block: int | None = None
    compute: torch.dtype | None = None


class FusedLinearLoss(torch.autograd.Function):
    """`apply(hidden [N, H], weight [V, H], tokens [N], inputs, call)` -> loss and the tensors of `LossStats`."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, tokens: Tensor, inputs: LossInputs, call: KernelCall) -> Any:
        """Compute the loss and its gradients at once."""
        active = tokens_with_gradient(inputs, call.spec)
        index = active.nonzero()[:, 0]
        kind = call.compute or hidden.dtype
        part, some = hidden[index].to(kind).contiguous(), select(inputs, index, active)
        wants = ctx.needs_input_grad[:2]
        run = _token_level if call.spec.token_level else _sequence_level
        loss, columns, d_part, d_weight = run(part, weight.to(kind), tokens[index], some, call, wants)
        d_hidden = None
        if wants[0]:
            d_hidden = torch.zeros_like(hidden).index_copy_(0, index, d_part.to(hidden.dtype))
        ctx.grads = (d_hidden, None if d_weight is None else d_weight.to(weight.dtype))
        full = [scatter(one, index, len(hidden)) for one in columns]
        ctx.mark_non_differentiable(*full, active)
        return loss, *full, active

    @staticmethod
    def backward(ctx: Any, d_loss: Tensor, *_: Any) -> Any:
        """Return the kept gradients times `d_loss`. Raises RuntimeError on a second call: they are scaled in place."""
        if ctx.grads is None:
            raise RuntimeError("the gradients of this loss were returned already: call backward once for each forward")
        grads, ctx.grads = ctx.grads, None
        return *(None if grad is None else grad.mul_(d_loss.to(grad.dtype)) for grad in grads), None, None, None


def fused_loss(
    hidden: Tensor,
    weight: Tensor,
    tokens: Tensor,
    inputs: LossInputs,
    spec: LossSpec,
    *,
    temperature: float,
    chunk: int = CHUNK,
    block: int | None = None,
    compute: torch.dtype | None = None,
) -> tuple[Tensor, LossStats]:
    """Return the loss of N packed tokens through the head, and the figures of each token.

    `hidden` [N, H] and `weight` [V, H] (any float dtype) get gradients; `tokens` is int64 [N]. The loss is an fp32
    scalar. `chunk` is the number of tokens whose logits exist at once; `compute`: see `KernelCall`.
    """
    loss, *columns = FusedLinearLoss.apply(
        hidden, weight, tokens, inputs, KernelCall(spec, temperature, chunk, block, compute)
    )
    return loss, LossStats(*columns)


def tile_of(part: Tensor, weight: Tensor) -> Tensor:
    """Return the logits of a chunk, padded with -inf to a multiple of 64 on CUDA so that loads stay wide."""
    logits = product32(part, weight.t())
    over = -logits.shape[1] % ALIGN
    return torch.nn.functional.pad(logits, (0, over), value=-torch.inf) if over and part.is_cuda else logits


def _chunks(count: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


class _Grads:
    """Gradients summed over chunks, in fp32 (fp64 for fp64 operands)."""

    def __init__(self, part: Tensor, weight: Tensor, wants: tuple[bool, bool]) -> None:
        wide = torch.float64 if part.dtype == torch.float64 else torch.float32
        self.part = torch.empty(part.shape, dtype=wide, device=part.device) if wants[0] else None
        self.weight = torch.zeros(weight.shape, dtype=wide, device=weight.device) if wants[1] else None
        self._from = (part, weight)

    def add(self, at: slice, d_logits: Tensor) -> None:
        """Add one chunk's dL/dlogits, rounded to the operands' type for the products as in any linear layer."""
        part, weight = self._from
        narrow = d_logits[:, : weight.shape[0]].to(part.dtype)
        if self.part is not None:
            self.part[at] = product32(narrow, weight)
        if self.weight is not None:
            self.weight += product32(narrow.t(), part[at])


def _token_level(
    part: Tensor, weight: Tensor, tokens: Tensor, inputs: LossInputs, call: KernelCall, wants: tuple[bool, bool]
) -> tuple[Tensor, list[Tensor], Any, Any]:
    grads, stats = _Grads(part, weight, wants), []
    for at in _chunks(len(part), call.chunk):
        tile = tile_of(part[at], weight)
        stats.append(
            kernel.both_(
                tile, tokens[at], part_of(inputs, at), call.spec, temperature=call.temperature, block=call.block
            )
        )
        grads.add(at, tile)
    columns = _columns(stats, part)
    loss = (inputs.w_pg * columns[2]).sum() + (inputs.w_kl * columns[3]).sum()
    return loss, columns, grads.part, grads.weight


def _sequence_level(
    part: Tensor, weight: Tensor, tokens: Tensor, inputs: LossInputs, call: KernelCall, wants: tuple[bool, bool]
) -> tuple[Tensor, list[Tensor], Any, Any]:
    first = [
        kernel.forward(tile_of(part[at], weight), tokens[at], temperature=call.temperature, block=call.block)
        for at in _chunks(len(part), call.chunk)
    ]
    logp, entropy, *_ = _columns(first, part)
    loss, terms, slope = slopes(logp, inputs, call.spec)
    grads = _Grads(part, weight, wants)
    for stats, at in zip(first, _chunks(len(part), call.chunk), strict=True):
        tile = tile_of(part[at], weight)
        kernel.backward_(tile, tokens[at], stats.lse, slope[at], temperature=call.temperature, block=call.block)
        grads.add(at, tile)
    return loss, [logp, entropy, terms.policy_loss, terms.kl, terms.clipped], grads.part, grads.weight


def _columns(stats: list[kernel.TokenStats], part: Tensor) -> list[Tensor]:
    if not stats:
        empty = torch.empty(
            0, dtype=torch.float64 if part.dtype == torch.float64 else torch.float32, device=part.device
        )
        return [empty, empty, empty, empty, empty.bool()]
    names = ("logp", "entropy", "policy_loss", "kl", "clipped")
    return [torch.cat([getattr(one, name) for one in stats]) for name in names]
