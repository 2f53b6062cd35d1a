"""The head and the loss together: hidden states in, a loss and its gradients out, logits only a tile at a time.

Rows whose gradient is zero are left out first. Then, for a token-level loss, each chunk of rows costs three
products: logits = h W', the row kernel in place, dh = dz W, dW += dz' h; the loss is known inside the
forward, so nothing is computed again. Sequence-level losses need every log-prob first, so they compute the logits
twice (four products). Tiles and accumulation are fp32; dW is rounded once, at the end.

The gradients are kept from the forward to the backward (dh [N, H], dW [V, H]); there is no second derivative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.kernels import logits as kernel
from assay.trainer_adapter.grpo.objective.losses import LossSpec, Rows, loss_of
from assay.trainer_adapter.grpo.objective.segments import lengths_of, offsets_of, segment_sum, spread

CHUNK = 4096
ALIGN = 64


@dataclass(frozen=True)
class Job:
    """What does not change over the chunks of a call. `block` is for tests.

    `compute`: the type of the operands of the products; None: their own. Gradients come back in the operands' own
    types, so that a head kept in fp32 and run in bfloat16 has its gradient rounded nowhere.
    """

    spec: LossSpec
    temperature: float
    chunk: int = CHUNK
    block: int | None = None
    compute: torch.dtype | None = None


@dataclass(frozen=True)
class Stats:
    """Per row, detached; `seen` says which rows were computed, the others hold 0."""

    logp: Tensor
    entropy: Tensor
    pg: Tensor
    kl: Tensor
    clipped: Tensor
    seen: Tensor


def alive_rows(rows: Rows, spec: LossSpec) -> Tensor:
    """Rows to compute: those with a gradient; where tokens share a ratio, whole sequences with any."""
    alive = ~rows.dead
    if spec.token_level:
        return alive
    return spread(segment_sum(alive.to(torch.float32), rows.offsets), rows.offsets) > 0


def pick(rows: Rows, index: Tensor, alive: Tensor) -> Rows:
    """The rows at `index`, which are those that `alive` marks."""
    offsets = offsets_of(segment_sum(alive.to(torch.float64), rows.offsets).long())
    return replace(
        rows,
        offsets=offsets,
        old=None if rows.old is None else rows.old[index],
        advantages=rows.advantages[index],
        pg=rows.pg[index],
        kl=rows.kl[index],
        ref=None if rows.ref is None else rows.ref[index],
    )


class FusedLinearLoss(torch.autograd.Function):
    """`apply(hidden [N, H], weight [V, H], tokens [N], rows, job)` -> loss and the tensors of `Stats`."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, tokens: Tensor, rows: Rows, job: Job) -> Any:
        """Loss and gradients at once."""
        alive = alive_rows(rows, job.spec)
        index = alive.nonzero()[:, 0]
        kind = job.compute or hidden.dtype
        part, some = hidden[index].to(kind).contiguous(), pick(rows, index, alive)
        wants = ctx.needs_input_grad[:2]
        run = _token_level if job.spec.token_level else _sequence_level
        loss, columns, d_part, d_weight = run(part, weight.to(kind), tokens[index], some, job, wants)
        d_hidden = None
        if wants[0]:
            d_hidden = torch.zeros_like(hidden).index_copy_(0, index, d_part.to(hidden.dtype))
        ctx.grads = (d_hidden, None if d_weight is None else d_weight.to(weight.dtype))
        full = [
            torch.zeros(len(hidden), dtype=one.dtype, device=one.device).index_copy_(0, index, one) for one in columns
        ]
        ctx.mark_non_differentiable(*full, alive)
        return loss, *full, alive

    @staticmethod
    def backward(ctx: Any, d_loss: Tensor, *_: Any) -> Any:
        """The kept gradients, times what comes from above. Once: they are not kept twice."""
        if ctx.grads is None:
            raise RuntimeError("this loss has given its gradients away: one backward for each forward")
        grads, ctx.grads = ctx.grads, None
        return *(None if grad is None else grad.mul_(d_loss.to(grad.dtype)) for grad in grads), None, None, None


def fused_loss(
    hidden: Tensor, weight: Tensor, tokens: Tensor, rows: Rows, spec: LossSpec, *,
    temperature: float, chunk: int = CHUNK, block: int | None = None, compute: torch.dtype | None = None,
) -> tuple[Tensor, Stats]:  # fmt: skip
    """The loss of packed rows through the head `weight`, differentiable in both, and what each row amounts to."""
    loss, *columns = FusedLinearLoss.apply(hidden, weight, tokens, rows, Job(spec, temperature, chunk, block, compute))
    return loss, Stats(*columns)


def product32(a: Tensor, b: Tensor) -> Tensor:
    """a @ b with fp32 accumulation and an fp32 result; fp64 stays fp64."""
    if a.dtype == b.dtype and a.dtype in (torch.float32, torch.float64):
        return torch.mm(a, b)
    if a.is_cuda and a.dtype == b.dtype:
        return torch.mm(a, b, out_dtype=torch.float32)
    return torch.mm(a.float(), b.float())


def tile_of(part: Tensor, weight: Tensor) -> Tensor:
    """Logits of a chunk; a vocabulary that is no multiple of 64 is filled up with -inf, so that loads stay wide."""
    logits = product32(part, weight.t())
    over = -logits.shape[1] % ALIGN
    return torch.nn.functional.pad(logits, (0, over), value=-torch.inf) if over and part.is_cuda else logits


def _chunks(count: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


class _Grads:
    """Gradients gathered over chunks, in fp32 (or fp64)."""

    def __init__(self, part: Tensor, weight: Tensor, wants: tuple[bool, bool]) -> None:
        wide = torch.float64 if part.dtype == torch.float64 else torch.float32
        self.part = torch.empty(part.shape, dtype=wide, device=part.device) if wants[0] else None
        self.weight = torch.zeros(weight.shape, dtype=wide, device=weight.device) if wants[1] else None
        self._from = (part, weight)

    def add(self, at: slice, d_logits: Tensor) -> None:
        """One chunk's dL/dlogits, rounded to the operands' type for the products as any head's backward does."""
        part, weight = self._from
        narrow = d_logits[:, : weight.shape[0]].to(part.dtype)
        if self.part is not None:
            self.part[at] = product32(narrow, weight)
        if self.weight is not None:
            self.weight += product32(narrow.t(), part[at])


def _token_level(
    part: Tensor, weight: Tensor, tokens: Tensor, rows: Rows, job: Job, wants: tuple[bool, bool]
) -> tuple[Tensor, list[Tensor], Any, Any]:
    grads, stats = _Grads(part, weight, wants), []
    for at in _chunks(len(part), job.chunk):
        tile = tile_of(part[at], weight)
        stats.append(
            kernel.both_(tile, tokens[at], _slice(rows, at), job.spec, temperature=job.temperature, block=job.block)
        )
        grads.add(at, tile)
    columns = _columns(stats, part)
    loss = (rows.pg * columns[2]).sum() + (rows.kl * columns[3]).sum()
    return loss, columns, grads.part, grads.weight


def _sequence_level(
    part: Tensor, weight: Tensor, tokens: Tensor, rows: Rows, job: Job, wants: tuple[bool, bool]
) -> tuple[Tensor, list[Tensor], Any, Any]:
    first = [
        kernel.forward(tile_of(part[at], weight), tokens[at], temperature=job.temperature, block=job.block)
        for at in _chunks(len(part), job.chunk)
    ]
    logp, entropy, *_ = _columns(first, part)
    loss, terms, slope = slopes(logp, rows, job.spec)
    grads = _Grads(part, weight, wants)
    for stats, at in zip(first, _chunks(len(part), job.chunk), strict=True):
        tile = tile_of(part[at], weight)
        kernel.backward_(tile, tokens[at], stats.lse, slope[at], temperature=job.temperature, block=job.block)
        grads.add(at, tile)
    return loss, [logp, entropy, terms[0], terms[1], terms[2]], grads.part, grads.weight


def slopes(logp: Tensor, rows: Rows, spec: LossSpec) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor], Tensor]:
    """Loss, terms and dL/dlogp of any loss: segment reductions over N numbers, by the reference's own autograd."""
    with torch.enable_grad():
        at = logp.detach().requires_grad_()
        loss, terms = loss_of(at, rows, spec)
        (slope,) = torch.autograd.grad(loss, at)
    return loss.detach(), (terms.pg.detach(), terms.kl.detach(), terms.clipped), slope


def _columns(stats: list[kernel.RowStats], part: Tensor) -> list[Tensor]:
    if not stats:
        empty = torch.empty(
            0, dtype=torch.float64 if part.dtype == torch.float64 else torch.float32, device=part.device
        )
        return [empty, empty, empty, empty, empty.bool()]
    names = ("logp", "entropy", "pg", "kl", "clipped")
    return [torch.cat([getattr(one, name) for one in stats]) for name in names]


def _slice(rows: Rows, at: slice) -> Rows:
    """Rows of a chunk; a token-level loss does not look at the offsets."""
    ref = None if rows.ref is None else rows.ref[at]
    old = None if rows.old is None else rows.old[at]
    return replace(rows, old=old, advantages=rows.advantages[at], pg=rows.pg[at], kl=rows.kl[at], ref=ref)


__all__ = ["FusedLinearLoss", "Stats", "alive_rows", "fused_loss", "lengths_of", "pick", "slopes"]
