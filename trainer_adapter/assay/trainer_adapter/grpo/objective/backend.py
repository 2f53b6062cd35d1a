"""From hidden states or logits to a loss: the one switch between torch and the kernels.

`head_loss` takes hidden states and the head's matrix (the kernels' fused path, or torch), `logits_loss`
takes logits (models that scale or cap them). Both leave out rows whose gradient is zero before they compute
anything, give the same numbers on either backend, and report log-probs, entropy, KL and clipping per row.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.kernels import Backend, use_triton
from assay.trainer_adapter.grpo.objective.losses import LossSpec, Rows, loss_of


def head_loss(
    hidden: Tensor,
    weight: Tensor,
    tokens: Tensor,
    rows: Rows,
    spec: LossSpec,
    *,
    temperature: float,
    backend: Backend = "auto",
    compute: torch.dtype | None = None,
) -> tuple[Tensor, Any]:
    """Loss of packed rows, differentiable in `hidden` [N, H] and `weight` [V, H], and their `Stats`.

    `compute`: the type of the operands of the head's product, whose result is fp32; None: that of `hidden`.
    """
    from assay.trainer_adapter.grpo.kernels.linear import alive_rows, fused_loss, pick

    if use_triton(backend, hidden.device):
        return fused_loss(hidden, weight, tokens, rows, spec, temperature=temperature, compute=compute)
    alive = alive_rows(rows, spec)
    index = alive.nonzero()[:, 0]
    wide = torch.float64 if hidden.dtype == torch.float64 else torch.float32
    kind = compute or hidden.dtype
    logits = torch.mm(hidden[index].to(kind).to(wide), weight.to(kind).t().to(wide))
    return _torch_loss(logits, tokens[index], pick(rows, index, alive), spec, temperature, index, alive)


def logits_loss(
    logits: Tensor,
    tokens: Tensor,
    rows: Rows,
    spec: LossSpec,
    *,
    temperature: float,
    backend: Backend = "auto",
) -> tuple[Tensor, Any]:
    """The same from `logits` [N, V]. The kernels overwrite them: do not use them afterwards."""
    from assay.trainer_adapter.grpo.kernels.inplace import in_place_loss
    from assay.trainer_adapter.grpo.kernels.linear import alive_rows, pick

    if use_triton(backend, logits.device):
        return in_place_loss(logits, tokens, rows, spec, temperature=temperature)
    alive = alive_rows(rows, spec)
    index = alive.nonzero()[:, 0]
    return _torch_loss(logits[index], tokens[index], pick(rows, index, alive), spec, temperature, index, alive)


def _torch_loss(
    logits: Tensor, tokens: Tensor, rows: Rows, spec: LossSpec, temperature: float, index: Tensor, alive: Tensor
) -> tuple[Tensor, Any]:
    from assay.trainer_adapter.grpo.kernels.linear import Stats

    logp, entropy = token_logp(logits, tokens, temperature=temperature)
    loss, terms = loss_of(logp, rows, spec)

    def full(one: Tensor) -> Tensor:
        return torch.zeros(len(alive), dtype=one.dtype, device=one.device).index_copy_(0, index, one.detach())

    stats = Stats(full(logp), full(entropy), full(terms.pg), full(terms.kl), full(terms.clipped), alive)
    return loss, stats


def token_logp(logits: Tensor, tokens: Tensor, *, temperature: float) -> tuple[Tensor, Tensor]:
    """Log-prob of each token (at most 0) and detached entropy; fp32, or fp64; -inf logits are legal."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    every = torch.log_softmax(wide / temperature, -1)
    with torch.no_grad():
        p = every.exp()
        entropy = -torch.where(p > 0, p * every, 0.0).sum(-1)
    return every.gather(-1, tokens[:, None])[:, 0].clamp(max=0.0), entropy
