"""The loss from logits that exist already: the token kernel in place, behind autograd.

The forward overwrites the logits with dL/dlogits, which the backward hands to whatever produced them, so that no second
[N, V] tensor exists. The producer must not need the values of the logits (a linear layer does not).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.kernels import logits as kernel
from assay.trainer_adapter.grpo.kernels.linear import KernelCall
from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec
from assay.trainer_adapter.grpo.objective.selection import LossStats, slopes


class InPlaceLoss(torch.autograd.Function):
    """`apply(logits [N, V], tokens, inputs, call)` -> loss and the tensors of `LossStats`."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tokens: Tensor, inputs: LossInputs, call: KernelCall) -> Any:
        """Compute the loss; `logits` hold its gradient afterwards."""
        buffer = logits.detach()
        if call.spec.token_level:
            stats = kernel.both_(buffer, tokens, inputs, call.spec, temperature=call.temperature, block=call.block)
            loss = (inputs.w_pg * stats.policy_loss).sum() + (inputs.w_kl * stats.kl).sum()
            columns = [stats.logp, stats.entropy, stats.policy_loss, stats.kl, stats.clipped]
            seen = ~inputs.zero_gradient
        else:
            stats = kernel.forward(buffer, tokens, temperature=call.temperature, block=call.block)
            loss, terms, slope = slopes(stats.logp, inputs, call.spec)
            kernel.backward_(buffer, tokens, stats.lse, slope, temperature=call.temperature, block=call.block)
            columns = [stats.logp, stats.entropy, terms.policy_loss, terms.kl, terms.clipped]
            seen = torch.ones_like(inputs.zero_gradient)
        ctx.gradient = buffer
        ctx.mark_non_differentiable(*columns, seen)
        return loss, *columns, seen

    @staticmethod
    def backward(ctx: Any, d_loss: Tensor, *_: Any) -> Any:
        """Return the gradient times `d_loss`. Raises RuntimeError on a second call: it is scaled in place."""
        if ctx.gradient is None:
            raise RuntimeError("the gradient of this loss was returned already: call backward once for each forward")
        gradient, ctx.gradient = ctx.gradient, None
        return gradient.mul_(d_loss.to(gradient.dtype)), None, None, None


def in_place_loss(
    logits: Tensor, tokens: Tensor, inputs: LossInputs, spec: LossSpec, *, temperature: float, block: int | None = None
) -> tuple[Tensor, LossStats]:
    """Return the loss of N packed tokens from their logits [N, V], and the figures of each token.

    `logits` (any float dtype, last stride 1) are overwritten; `tokens` is int64 [N]; the loss is an fp32 scalar.
    """
    loss, *columns = InPlaceLoss.apply(logits, tokens, inputs, KernelCall(spec, temperature, block=block))
    return loss, LossStats(*columns)
