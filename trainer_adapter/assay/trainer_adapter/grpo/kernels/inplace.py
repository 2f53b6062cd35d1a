"""The loss from logits that are already there: the row kernel in place, behind autograd.

The logits become dL/dlogits in the forward and are handed to the producer's backward: no second [N, V]
tensor exists. What produced them must not need their values (a linear layer does not).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.kernels import logits as kernel
from assay.trainer_adapter.grpo.kernels.linear import Job, Stats, slopes
from assay.trainer_adapter.grpo.objective.losses import LossSpec, Rows


class InPlaceLoss(torch.autograd.Function):
    """`apply(logits [N, V], tokens, rows, job)` -> loss and the tensors of `Stats`."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tokens: Tensor, rows: Rows, job: Job) -> Any:
        """Loss; `logits` hold its gradient afterwards."""
        buffer = logits.detach()
        if job.spec.token_level:
            stats = kernel.both_(buffer, tokens, rows, job.spec, temperature=job.temperature, block=job.block)
            loss = (rows.pg * stats.pg).sum() + (rows.kl * stats.kl).sum()
            columns, seen = [stats.logp, stats.entropy, stats.pg, stats.kl, stats.clipped], ~rows.dead
        else:
            stats = kernel.forward(buffer, tokens, temperature=job.temperature, block=job.block)
            loss, terms, slope = slopes(stats.logp, rows, job.spec)
            kernel.backward_(buffer, tokens, stats.lse, slope, temperature=job.temperature, block=job.block)
            columns, seen = [stats.logp, stats.entropy, *terms], torch.ones_like(rows.dead)
        ctx.gradient = buffer
        ctx.mark_non_differentiable(*columns, seen)
        return loss, *columns, seen

    @staticmethod
    def backward(ctx: Any, d_loss: Tensor, *_: Any) -> Any:
        """The gradient, times what comes from above. Once: it lies where the logits lay."""
        if ctx.gradient is None:
            raise RuntimeError("this loss has given its gradient away: one backward for each forward")
        gradient, ctx.gradient = ctx.gradient, None
        return gradient.mul_(d_loss.to(gradient.dtype)), None, None, None


def in_place_loss(
    logits: Tensor, tokens: Tensor, rows: Rows, spec: LossSpec, *, temperature: float, block: int | None = None
) -> tuple[Tensor, Stats]:
    """The loss of packed rows from their logits, and what each row amounts to."""
    loss, *columns = InPlaceLoss.apply(logits, tokens, rows, Job(spec, temperature, block=block))
    return loss, Stats(*columns)
