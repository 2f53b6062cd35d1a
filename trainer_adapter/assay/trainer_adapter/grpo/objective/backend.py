"""From hidden states or logits to a loss: the one switch between torch and the kernels.

`head_loss` takes hidden states and the head's matrix (the kernels' fused path, or torch), `logits_loss` takes logits
(models that scale or cap them). Both leave out the tokens whose gradient is zero before they compute anything, give
the same numbers on either backend, and report log-prob, entropy, KL and clipping of each token. Triton is imported
only where the kernels run.
"""

from __future__ import annotations

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.kernels import Backend, use_triton
from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec, loss_of
from assay.trainer_adapter.grpo.objective.selection import LossStats, scatter, select, tokens_with_gradient


def head_loss(
    hidden: Tensor,
    weight: Tensor,
    tokens: Tensor,
    inputs: LossInputs,
    spec: LossSpec,
    *,
    temperature: float,
    backend: Backend = "auto",
    compute: torch.dtype | None = None,
) -> tuple[Tensor, LossStats]:
    """Return the loss of N packed tokens (an fp32 scalar) and the figures of each token.

    Differentiable in `hidden` [N, H] and `weight` [V, H], both of any float dtype; `tokens` is int64 [N].

    `compute`: the type of the operands of the head's product, whose result is fp32; None: that of `hidden`.
    """
    if use_triton(backend, hidden.device):
        from assay.trainer_adapter.grpo.kernels.linear import fused_loss

        return fused_loss(hidden, weight, tokens, inputs, spec, temperature=temperature, compute=compute)
    active = tokens_with_gradient(inputs, spec)
    index = active.nonzero()[:, 0]
    wide = torch.float64 if hidden.dtype == torch.float64 else torch.float32
    kind = compute or hidden.dtype
    logits = torch.mm(hidden[index].to(kind).to(wide), weight.to(kind).t().to(wide))
    return _torch_loss(logits, tokens[index], select(inputs, index, active), spec, temperature, index, active)


def logits_loss(
    logits: Tensor,
    tokens: Tensor,
    inputs: LossInputs,
    spec: LossSpec,
    *,
    temperature: float,
    backend: Backend = "auto",
) -> tuple[Tensor, LossStats]:
    """Return the same from `logits` [N, V]. The kernels overwrite them: do not use them afterwards."""
    if use_triton(backend, logits.device):
        from assay.trainer_adapter.grpo.kernels.inplace import in_place_loss

        return in_place_loss(logits, tokens, inputs, spec, temperature=temperature)
    active = tokens_with_gradient(inputs, spec)
    index = active.nonzero()[:, 0]
    return _torch_loss(logits[index], tokens[index], select(inputs, index, active), spec, temperature, index, active)


def _torch_loss(
    logits: Tensor,
    tokens: Tensor,
    inputs: LossInputs,
    spec: LossSpec,
    temperature: float,
    index: Tensor,
    active: Tensor,
) -> tuple[Tensor, LossStats]:
    logp, entropy = token_logp(logits, tokens, temperature=temperature)
    loss, terms = loss_of(logp, inputs, spec)

    stats = LossStats(
        logp=scatter(logp, index, len(active)),
        entropy=scatter(entropy, index, len(active)),
        policy_loss=scatter(terms.policy_loss, index, len(active)),
        kl=scatter(terms.kl, index, len(active)),
        clipped=scatter(terms.clipped, index, len(active)),
        seen=active,
    )
    return loss, stats


def token_logp(logits: Tensor, tokens: Tensor, *, temperature: float) -> tuple[Tensor, Tensor]:
    """Return the log-prob of each token (at most 0) and its detached entropy, both [N], fp32 (fp64 for fp64 logits).

    `logits` [N, V] may hold -inf; `tokens` is int64 [N].
    """
    wide = logits if logits.dtype == torch.float64 else logits.float()
    every = torch.log_softmax(wide / temperature, -1)
    with torch.no_grad():
        p = every.exp()
        entropy = -torch.where(p > 0, p * every, 0.0).sum(-1)
    return every.gather(-1, tokens[:, None])[:, 0].clamp(max=0.0), entropy
