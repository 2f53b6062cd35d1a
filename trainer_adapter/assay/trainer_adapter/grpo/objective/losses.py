"""Per-token losses and KL estimators: the torch implementations that the kernels are compared with.

Ratios, from d_t = clamp(logp_t - old_t, +-20), so that no exp overflows:
    token          r_t = exp(d_t)                                  PPO, GRPO
    sequence       s_i = exp(mean_t d_t)                           GSPO, arXiv:2507.18071 eq. 7
    sequence_token sg(s_i) * p_t / sg(p_t)                         GSPO-token, same paper
    trajectory     R_i = exp(sum_t d_t)                            RLOO, arXiv:2402.14740
    geometric      exp(mean_t of d_t clipped on the side of A)     GMPO, arXiv:2507.20673
Surrogates of a ratio r with advantage A:
    clip   -min(min(r, dual_clip) A, clip(r, 1-low, 1+high) A)     PPO; clip-higher: DAPO, arXiv:2503.14476
    cispo  -sg(min(r, ratio_cap)) A logp                           CISPO, arXiv:2506.13585
    sapo   -(4/tau) sigmoid(tau (r-1)) A, tau by the sign of A     SAPO, arXiv:2511.20347
KL to the reference model, q = clamp(ref - logp, +-20): k1 = -q, k2 = q^2/2, k3 = e^q - q - 1; `kl_correction`
multiplies by r_t, whose gradient is then that of the true KL off-policy (k1 in a loss without it has none on average).
`ratio_cap` is a bound on r itself, not on r - 1. Not covered: entropy bonus, value losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from assay.trainer_adapter.grpo.objective.segments import per_token, segment_mean, segment_sum

Ratio = Literal["token", "sequence", "sequence_token", "trajectory", "geometric"]
Surrogate = Literal["clip", "cispo", "sapo"]
Kl = Literal["none", "k1", "k2", "k3"]
LOG_RATIO_BOUND = 20.0


@dataclass(frozen=True, kw_only=True)
class LossSpec:
    """A loss as data. `dual_clip` None: no dual clip; for `geometric` the clip widths are in log space.

    Raises ValueError for a combination that is no loss, such as a `dual_clip` within the clip, which would bound the
    ratio of tokens with A > 0 too (arXiv:1912.09729 applies it to A < 0 only).
    """

    ratio: Ratio = "token"
    surrogate: Surrogate = "clip"
    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = None
    ratio_cap: float = 5.0
    tau_pos: float = 1.0
    tau_neg: float = 1.05
    kl: Kl = "k3"
    kl_correction: bool = False

    def __post_init__(self) -> None:
        for holds, rule in (
            (self.clip_low >= 0 and self.clip_high >= 0, "clip_low and clip_high must be at least 0"),
            (self.ratio_cap > 0, "ratio_cap must be above 0"),
            (self.tau_pos > 0 and self.tau_neg > 0, "tau_pos and tau_neg must be above 0"),
            (self.ratio != "geometric" or self.surrogate == "clip", "ratio = geometric goes with surrogate = clip"),
            (
                self.dual_clip is None or (self.surrogate == "clip" and self.ratio != "geometric"),
                "dual_clip goes with surrogate = clip and a ratio that is not geometric",
            ),
            (self.dual_clip is None or self.dual_clip > 1 + self.clip_high, "dual_clip is above 1 + clip_high"),
        ):
            if not holds:
                raise ValueError(rule)

    @property
    def token_level(self) -> bool:
        """Whether a token's loss depends on that token alone, so that one kernel program per token suffices."""
        return self.ratio == "token"


@dataclass(frozen=True)
class LossInputs:
    """What a loss needs of N packed tokens besides their log-probs.

    `offsets`: int64 [S + 1], the tokens of sequence i are `offsets[i]:offsets[i + 1]`. `advantages`, and the weights
    `w_pg` and `w_kl` (`weights.token_weights`): fp32 [N]. `old`, `ref`: fp32 [N], log-probs of the policy before the
    update and of the reference model. `old` is None where the old policy is the current one: ratios are exactly 1, and
    no forward pass is needed.
    """

    offsets: Tensor
    old: Tensor | None
    advantages: Tensor
    w_pg: Tensor
    w_kl: Tensor
    ref: Tensor | None = None

    @property
    def zero_gradient(self) -> Tensor:
        """bool [N]: tokens whose gradient is zero whatever the model says."""
        return ((self.advantages == 0) | (self.w_pg == 0)) & (self.w_kl == 0)


@dataclass(frozen=True)
class Terms:
    """Loss terms of each token, [N]: the surrogate loss, the KL estimate, and whether a clip holds the ratio (bool)."""

    policy_loss: Tensor
    kl: Tensor
    clipped: Tensor


def log_ratios(logp: Tensor, old: Tensor | None) -> Tensor:
    """Return log p - log p_old, bounded by `LOG_RATIO_BOUND`; [N]."""
    return (logp - (logp.detach() if old is None else old)).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)


def loss_of(logp: Tensor, inputs: LossInputs, spec: LossSpec) -> tuple[Tensor, Terms]:
    """Return sum_t (w_pg * policy_loss_t + w_kl * kl_t), differentiable in `logp` [N], and its terms."""
    terms = terms_of(logp, inputs, spec)
    return (inputs.w_pg * terms.policy_loss).sum() + (inputs.w_kl * terms.kl).sum(), terms


def terms_of(logp: Tensor, inputs: LossInputs, spec: LossSpec) -> Terms:
    """Return the terms of each token."""
    change = log_ratios(logp, inputs.old)
    pg, clipped = _policy(logp, change, inputs, spec)
    kl = torch.zeros_like(logp) if inputs.ref is None else kl_of(logp, inputs.ref, change, spec)
    return Terms(pg, kl, clipped)


def _policy(logp: Tensor, change: Tensor, inputs: LossInputs, spec: LossSpec) -> tuple[Tensor, Tensor]:
    if spec.ratio == "geometric":
        return _geometric(change, inputs, spec)
    ratio = _ratio(change, inputs.offsets, spec.ratio)
    if spec.surrogate == "cispo":
        return _cispo(logp, ratio, inputs.advantages, spec)
    if spec.surrogate == "sapo":
        return _sapo(ratio, inputs.advantages, spec)
    return _clip(ratio, inputs.advantages, spec)


def _ratio(change: Tensor, offsets: Tensor, kind: Ratio) -> Tensor:
    if kind == "token":
        return change.exp()
    if kind == "trajectory":
        whole = segment_sum(change, offsets).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
        return per_token(whole.exp(), offsets)
    ratio = per_token(segment_mean(change, offsets).exp(), offsets)
    if kind == "sequence_token":
        return ratio.detach() * (change - change.detach()).exp()
    return ratio


def _clip(ratio: Tensor, advantages: Tensor, spec: LossSpec) -> tuple[Tensor, Tensor]:
    bounded = ratio if spec.dual_clip is None else ratio.clamp(max=spec.dual_clip)
    held = ratio.clamp(1 - spec.clip_low, 1 + spec.clip_high)
    unclipped_term, clipped_term = bounded * advantages, held * advantages
    clipped = (clipped_term < unclipped_term) | (bounded < ratio) & (advantages < 0)
    return -torch.minimum(unclipped_term, clipped_term), clipped


def _cispo(logp: Tensor, ratio: Tensor, advantages: Tensor, spec: LossSpec) -> tuple[Tensor, Tensor]:
    coefficient = ratio.detach().clamp(max=spec.ratio_cap)
    return -coefficient * advantages * logp, ratio.detach() > spec.ratio_cap


def _sapo(ratio: Tensor, advantages: Tensor, spec: LossSpec) -> tuple[Tensor, Tensor]:
    tau = torch.where(advantages >= 0, spec.tau_pos, spec.tau_neg).to(ratio.dtype)
    return -(4.0 / tau) * torch.sigmoid(tau * (ratio - 1)) * advantages, torch.zeros_like(ratio, dtype=torch.bool)


def _geometric(change: Tensor, inputs: LossInputs, spec: LossSpec) -> tuple[Tensor, Tensor]:
    sign = torch.sign(inputs.advantages)
    signed = sign * change
    held = torch.minimum(signed, signed.clamp(-spec.clip_low, spec.clip_high))
    ratio = per_token(segment_mean(sign * held, inputs.offsets).exp(), inputs.offsets)
    return -ratio * inputs.advantages, held < signed


def kl_of(logp: Tensor, ref: Tensor, change: Tensor, spec: LossSpec) -> Tensor:
    """Return the KL estimate of each token, [N]; `change` is its bounded log-ratio to the old policy."""
    q = (ref - logp).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    if spec.kl == "none":
        return torch.zeros_like(logp)
    value = {"k1": -q, "k2": q.square() / 2, "k3": q.exp() - q - 1}[spec.kl]
    return change.exp() * value if spec.kl_correction else value


def kl_in_reward(rewards: Tensor, old: Tensor, ref: Tensor, offsets: Tensor, *, beta: float, kl: Kl) -> Tensor:
    """Return `rewards` [S] less beta times the KL of each sequence, before advantages (RLOO, REINFORCE++: k1)."""
    value = kl_of(old, ref, torch.zeros_like(old), LossSpec(kl=kl))
    return rewards - beta * segment_sum(value, offsets)
