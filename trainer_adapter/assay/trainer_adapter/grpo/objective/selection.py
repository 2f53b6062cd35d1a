"""Which of N packed tokens a loss is computed for, and what it reports of them; plain torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec, Terms, loss_of
from assay.trainer_adapter.grpo.objective.segments import offsets_of, per_token, segment_sum


@dataclass(frozen=True)
class LossStats:
    """Detached figures of each token, [N]: fp32 but for the bools `clipped` and `seen`.

    `seen` says which tokens were computed; the others hold 0.
    """

    logp: Tensor
    entropy: Tensor
    policy_loss: Tensor
    kl: Tensor
    clipped: Tensor
    seen: Tensor


def tokens_with_gradient(inputs: LossInputs, spec: LossSpec) -> Tensor:
    """Return, as bool [N], the tokens to compute.

    Active tokens are those with a gradient; where the tokens of a sequence share a ratio, all tokens of a sequence that
    has an active one.
    """
    active = ~inputs.zero_gradient
    if spec.token_level:
        return active
    return per_token(segment_sum(active.to(torch.float32), inputs.offsets), inputs.offsets) > 0


def select(inputs: LossInputs, index: Tensor, active: Tensor) -> LossInputs:
    """Return the inputs at `index` (int64 [M]), which are the tokens that `active` (bool [N]) marks."""
    offsets = offsets_of(segment_sum(active.to(torch.float64), inputs.offsets).long())
    return replace(
        inputs,
        offsets=offsets,
        old=None if inputs.old is None else inputs.old[index],
        advantages=inputs.advantages[index],
        w_pg=inputs.w_pg[index],
        w_kl=inputs.w_kl[index],
        ref=None if inputs.ref is None else inputs.ref[index],
    )


def part_of(inputs: LossInputs, at: slice) -> LossInputs:
    """Return a slice of the inputs of a token-level loss, which does not look at the offsets."""
    ref = None if inputs.ref is None else inputs.ref[at]
    old = None if inputs.old is None else inputs.old[at]
    w_pg, w_kl = inputs.w_pg[at], inputs.w_kl[at]
    return replace(inputs, old=old, advantages=inputs.advantages[at], w_pg=w_pg, w_kl=w_kl, ref=ref)


def scatter(values: Tensor, index: Tensor, count: int) -> Tensor:
    """Return a vector of `count` zeros with `values` (detached) at `index`."""
    return torch.zeros(count, dtype=values.dtype, device=values.device).index_copy_(0, index, values.detach())


def slopes(logp: Tensor, inputs: LossInputs, spec: LossSpec) -> tuple[Tensor, Terms, Tensor]:
    """Return the loss, its detached terms and dL/dlogp [N] for log-probs [N], by autograd in torch."""
    with torch.enable_grad():
        at = logp.detach().requires_grad_()
        loss, terms = loss_of(at, inputs, spec)
        (slope,) = torch.autograd.grad(loss, at)
    return loss.detach(), Terms(terms.policy_loss.detach(), terms.kl.detach(), terms.clipped), slope
