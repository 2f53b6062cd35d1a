"""A window of packed tokens over a tiny real model, so that invariances are tested on gradients of parameters."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.advantages import group_advantages
from assay.trainer_adapter.grpo.objective.losses import LossInputs, loss_of
from assay.trainer_adapter.grpo.objective.presets import Preset
from assay.trainer_adapter.grpo.objective.segments import lengths_of, offsets_of, per_token
from assay.trainer_adapter.grpo.objective.weights import Totals, token_weights, totals

VOCAB, WIDTH, MAX_TOKENS = 11, 5, 12


@dataclass(frozen=True)
class Window:
    """Sequences of a window: `take` gives a part of it."""

    lengths: Tensor
    context: Tensor
    tokens: Tensor
    old: Tensor
    ref: Tensor
    advantages: Tensor
    offsets: Tensor

    def take(self, index: list[int]) -> "Window":
        tokens = torch.cat([torch.arange(int(self.offsets[i]), int(self.offsets[i + 1])) for i in index])
        return replace(
            self,
            lengths=self.lengths[index],
            context=self.context[tokens],
            tokens=self.tokens[tokens],
            old=self.old[tokens],
            ref=self.ref[tokens],
            advantages=self.advantages[index],
            offsets=offsets_of(self.lengths[index]),
        )


def window(preset: Preset, *, dtype: torch.dtype, groups: int = 3, size: int = 4, seed: int = 0) -> Window:
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 9, (groups * size,), generator=random)
    count = int(lengths.sum())
    rewards = torch.rand(groups * size, generator=random, dtype=torch.float64)
    advantages = group_advantages(rewards, torch.arange(groups + 1) * size, kind=preset.advantage).values
    logp = -3 * torch.rand(3, count, generator=random, dtype=torch.float64)
    return Window(
        lengths,
        torch.randn(count, WIDTH, generator=random, dtype=torch.float64).to(dtype),
        torch.randint(0, VOCAB, (count,), generator=random),
        logp[0].to(dtype),
        logp[1].to(dtype),
        advantages.to(dtype),
        offsets_of(lengths),
    )


def head(dtype: torch.dtype) -> Tensor:
    return torch.randn(WIDTH, VOCAB, generator=torch.Generator().manual_seed(7), dtype=torch.float64).to(dtype)


def inputs_of(part: Window, preset: Preset, whole: Totals, *, beta: float = 0.1, ranks: int = 1) -> LossInputs:
    weights = token_weights(
        part.offsets, whole, normaliser=preset.normaliser, keep=torch.ones(len(part.lengths), dtype=torch.bool),
        max_tokens=MAX_TOKENS, beta=beta, ranks=ranks, dtype=part.old.dtype,
    )  # fmt: skip
    return LossInputs(
        part.offsets, part.old, per_token(part.advantages, part.offsets), weights.w_pg, weights.w_kl, part.ref
    )


def whole_of(part: Window) -> Totals:
    return totals(part.offsets, torch.ones(len(part.lengths), dtype=torch.bool))


def logp_of(part: Window, weight: Tensor) -> Tensor:
    logits = part.context @ weight
    return torch.log_softmax(logits, -1).gather(-1, part.tokens[:, None])[:, 0]


def near_old(part: Window, weight: Tensor, *, seed: int = 3) -> Window:
    """The window with old log-probs near those of `weight`, on both sides of every clip."""
    with torch.no_grad():
        now = logp_of(part, weight)
    noise = torch.randn(now.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(now.dtype)
    return replace(part, old=now + 0.3 * noise, ref=now - 0.2 * noise.flip(0))


def gradient(parts: list[Window], preset: Preset, whole: Totals, *, ranks: int = 1) -> tuple[float, Tensor]:
    """Loss and gradient of the head, summed over `parts` one after another."""
    weight = head(parts[0].old.dtype).requires_grad_()
    total = 0.0
    for part in parts:
        loss, _ = loss_of(logp_of(part, weight), inputs_of(part, preset, whole, ranks=ranks), preset.loss)
        loss.backward()
        total += float(loss.detach())
    assert weight.grad is not None
    return total, weight.grad


__all__ = ["gradient", "head", "inputs_of", "lengths_of", "logp_of", "near_old", "whole_of", "window"]
