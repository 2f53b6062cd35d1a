"""Token loss from logits: log-prob, entropy, loss and gradient of a token in one program, in place.

    forward   reads the logits once: log-prob, log-sum-exp, entropy
    both      forward, the token's loss and KL, then the logits become dL/dlogits: 2 B read, 2 B read again
              (from L2 where a token's logits fit), 2 B written per element of bf16
    backward  the logits become dL/dlogits for a given dL/dlogp (sequence-level losses, user code)
The logits of a token whose gradient is zero (A = 0 or w_pg = 0, and w_kl = 0) are not read, those of a clipped token
not a second time; their dL/dlogits is bitwise 0. Logits of -inf are legal; a log-prob is never above 0. All arithmetic
is fp32 (fp64 in tests). Tokens are packed: logits `[N, V]` with a last stride of 1; a first stride that is a multiple
of 16 loads 16 bytes at a time. The torch implementation is `losses.loss_of` over `torch.log_softmax`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec

FORWARD, BOTH, BACKWARD = 0, 1, 2
SURROGATES = {"clip": 0, "cispo": 1, "sapo": 2}
KLS = {"none": 0, "k1": 1, "k2": 2, "k3": 3}
BLOCK = 4096
WARPS = 8
NO_DUAL_CLIP = 3e38


@triton.jit
def policy_term(logp, ratio, inside, a, low, high, dual, cap, tau_pos, tau_neg, SURROGATE: tl.constexpr):
    """Return the loss, its derivative in logp, and whether a clip holds the ratio."""
    if SURROGATE == 0:
        bounded = tl.minimum(ratio, dual)
        held = tl.minimum(tl.maximum(ratio, 1.0 - low), 1.0 + high)
        free, clipped = bounded * a, held * a
        holds = (clipped < free) | ((bounded < ratio) & (a < 0))
        return -tl.minimum(free, clipped), tl.where(holds, 0.0, -a * ratio * inside), holds
    elif SURROGATE == 1:
        coefficient = tl.minimum(ratio, cap)
        return -coefficient * a * logp, -coefficient * a, ratio > cap
    else:
        tau = tl.where(a >= 0, tau_pos, tau_neg)
        gate = 1.0 / (1.0 + tl.exp(-tau * (ratio - 1.0)))
        return -(4.0 / tau) * gate * a, -4.0 * gate * (1.0 - gate) * ratio * a * inside, ratio < 0


@triton.jit
def kl_term(logp, ref, ratio, inside, KL: tl.constexpr, CORRECT: tl.constexpr):
    """Return the KL estimate and its derivative in logp; beyond the bound of 20 the derivative is 0."""
    q = tl.minimum(tl.maximum(ref - logp, -20.0), 20.0)
    live = tl.where(tl.abs(ref - logp) <= 20.0, 1.0, 0.0)
    if KL == 1:
        value, slope = -q, live
    elif KL == 2:
        value, slope = q * q * 0.5, -q * live
    else:
        value, slope = tl.exp(q) - q - 1.0, (1.0 - tl.exp(q)) * live
    if CORRECT:
        slope = ratio * (slope + value * inside)
        value = ratio * value
    return value, slope


@triton.jit
def statistics(row, vocab, inv_t, ACC: tl.constexpr, BLOCK: tl.constexpr):
    """Return log-sum-exp and entropy of a token's logits in one pass; -inf contributes nothing."""
    peak = tl.full((), float("-inf"), ACC)
    total = tl.full((), 0.0, ACC)
    weighted = tl.full((), 0.0, ACC)
    for start in range(0, vocab, BLOCK):
        lane = start + tl.arange(0, BLOCK)
        z = tl.load(row + lane, mask=lane < vocab, other=float("-inf"), eviction_policy="evict_last").to(ACC) * inv_t
        new = tl.maximum(peak, tl.max(z))
        safe = tl.where(new == float("-inf"), 0.0, new)
        e = tl.exp(z - safe)
        scale = tl.exp(peak - safe)
        total = total * scale + tl.sum(e)
        weighted = weighted * scale + tl.sum(e * tl.where(e > 0, z, 0.0))
        peak = new
    lse = peak + tl.log(total)
    return lse, lse - weighted / total


@triton.jit
def write_zeros(row, vocab, BLOCK: tl.constexpr):
    """Write the gradient of a token that has none."""
    for start in range(0, vocab, BLOCK):
        lane = start + tl.arange(0, BLOCK)
        tl.store(row + lane, tl.zeros((BLOCK,), row.dtype.element_ty), mask=lane < vocab)


@triton.jit
def write_gradient(row, vocab, token, lse, g, inv_t, ACC: tl.constexpr, BLOCK: tl.constexpr):
    """Overwrite the logits of a token with g / T * (onehot - softmax)."""
    scale = g * inv_t
    for start in range(0, vocab, BLOCK):
        lane = start + tl.arange(0, BLOCK)
        z = tl.load(row + lane, mask=lane < vocab, other=float("-inf"), eviction_policy="evict_first").to(ACC) * inv_t
        p = tl.exp(z - lse)
        d = scale * (tl.where(lane == token, 1.0, 0.0) - p)
        tl.store(row + lane, d.to(row.dtype.element_ty), mask=lane < vocab)


@triton.jit
def token_kernel(
    logits, tokens, old, ref, adv, w_pg, w_kl, slope_in, lse_io,
    logp_out, entropy_out, pg_out, kl_out, clipped_out,
    stride, vocab, temperature, low, high, dual, cap, tau_pos, tau_neg,
    MODE: tl.constexpr, SURROGATE: tl.constexpr, KL: tl.constexpr, CORRECT: tl.constexpr,
    ON_POLICY: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Process one token; see the module for the modes."""
    i = tl.program_id(0).to(tl.int64)
    row = logits + i * stride
    token = tl.load(tokens + i)
    one = tl.full((), 1.0, ACC)
    inv_t = one / temperature
    if MODE == 2:
        g = tl.load(slope_in + i).to(ACC)
        if g == 0:
            write_zeros(row, vocab, BLOCK)
        else:
            write_gradient(row, vocab, token, tl.load(lse_io + i).to(ACC), g, inv_t, ACC, BLOCK)
    elif MODE == 0:
        lse, entropy = statistics(row, vocab, inv_t, ACC, BLOCK)
        logp = tl.minimum(tl.load(row + token).to(ACC) * inv_t - lse, 0.0)
        tl.store(logp_out + i, logp)
        tl.store(lse_io + i, lse)
        tl.store(entropy_out + i, entropy)
    else:
        a = tl.load(adv + i).to(ACC)
        wp = tl.load(w_pg + i).to(ACC)
        wk = tl.load(w_kl + i).to(ACC)
        if ((a == 0) | (wp == 0)) & (wk == 0):
            write_zeros(row, vocab, BLOCK)
        else:
            chosen = tl.load(row + token).to(ACC) * inv_t
            lse, entropy = statistics(row, vocab, inv_t, ACC, BLOCK)
            logp = tl.minimum(chosen - lse, 0.0)
            change = tl.full((), 0.0, ACC)
            if not ON_POLICY:
                change = logp - tl.load(old + i).to(ACC)
            inside = tl.where(tl.abs(change) <= 20.0, 1.0, 0.0)
            ratio = tl.exp(tl.minimum(tl.maximum(change, -20.0), 20.0))
            pg, slope, clipped = policy_term(
                logp, ratio, inside, a, one * low, one * high, one * dual, one * cap,
                one * tau_pos, one * tau_neg, SURROGATE,
            )  # fmt: skip
            g = wp * slope
            kl = tl.full((), 0.0, ACC)
            if KL != 0:
                kl, kl_slope = kl_term(logp, tl.load(ref + i).to(ACC), ratio, inside, KL, CORRECT)
                g += wk * kl_slope
            tl.store(logp_out + i, logp)
            tl.store(lse_io + i, lse)
            tl.store(entropy_out + i, entropy)
            tl.store(pg_out + i, pg)
            tl.store(kl_out + i, kl)
            tl.store(clipped_out + i, clipped.to(tl.int8))
            # every warp has read the chosen logit and the row before any of them writes
            tl.debug_barrier()
            if g == 0:
                write_zeros(row, vocab, BLOCK)
            else:
                write_gradient(row, vocab, token, lse, g, inv_t, ACC, BLOCK)


@dataclass(frozen=True)
class TokenStats:
    """Figures of each token, [N], in the accumulation type (`clipped`: bool); tokens that were not read hold 0.

    `policy_loss`, `kl` and `clipped` are filled by `both_` only.
    """

    logp: Tensor
    entropy: Tensor
    lse: Tensor
    policy_loss: Tensor
    kl: Tensor
    clipped: Tensor


def forward(logits: Tensor, tokens: Tensor, *, temperature: float, block: int | None = None) -> TokenStats:
    """Return log-prob, entropy and log-sum-exp of each token; `logits` [N, V] is not changed."""
    return _launch(logits, tokens, FORWARD, temperature=temperature, block=block)


def both_(
    logits: Tensor, tokens: Tensor, inputs: LossInputs, spec: LossSpec, *, temperature: float, block: int | None = None
) -> TokenStats:
    """Compute a token-level loss and its gradient: `logits` [N, V] becomes dL/dlogits.

    Raises ValueError for a loss that is not token-level.
    """
    if not spec.token_level:
        raise ValueError(f"{spec.ratio}: a token's loss depends on other tokens; use forward, then backward_")
    return _launch(logits, tokens, BOTH, temperature=temperature, inputs=inputs, spec=spec, block=block)


def backward_(
    logits: Tensor, tokens: Tensor, lse: Tensor, slope: Tensor, *, temperature: float, block: int | None = None
) -> None:
    """Overwrite `logits` [N, V] with dL/dlogits for dL/dlogp = `slope` [N]."""
    _launch(logits, tokens, BACKWARD, temperature=temperature, lse=lse, slope=slope, block=block)


def _packed(*vectors: Tensor) -> tuple[Tensor, ...]:
    """Return vectors that a program may read at `base + i`: a column or an expanded scalar is copied first."""
    return tuple(vector.contiguous() for vector in vectors)


def _or(vector: Tensor | None, spare: Tensor) -> Tensor:
    return spare if vector is None else vector


def _launch(
    logits: Tensor,
    tokens: Tensor,
    mode: int,
    *,
    temperature: float,
    inputs: LossInputs | None = None,
    spec: LossSpec | None = None,
    lse: Tensor | None = None,
    slope: Tensor | None = None,
    block: int | None = None,
) -> TokenStats:
    count, vocab = logits.shape
    if logits.stride(-1) != 1 or tokens.shape != (count,):
        raise ValueError("logits [N, V] with a last stride of 1, and tokens [N]")
    spec = spec or LossSpec(kl="none")
    wide = torch.float64 if logits.dtype == torch.float64 else torch.float32
    # zeros: what a mode does not write is 0, never what the memory held
    logp, entropy, own_lse, pg, kl = (torch.zeros(count, dtype=wide, device=logits.device) for _ in range(5))
    clipped = torch.zeros(count, dtype=torch.int8, device=logits.device)
    lse = own_lse if lse is None else lse.contiguous()
    spare = logp
    adv, w_pg, w_kl = _packed(inputs.advantages, inputs.w_pg, inputs.w_kl) if inputs is not None else (spare,) * 3
    old, ref = (spare, spare) if inputs is None else _packed(_or(inputs.old, spare), _or(inputs.ref, spare))
    tokens, slope = _packed(tokens, _or(slope, spare))
    if count:
        token_kernel[(count,)](
            logits, tokens, old, ref, adv, w_pg, w_kl, slope, lse,
            logp, entropy, pg, kl, clipped,
            logits.stride(0), vocab, float(temperature), spec.clip_low, spec.clip_high,
            NO_DUAL_CLIP if spec.dual_clip is None else spec.dual_clip, spec.ratio_cap, spec.tau_pos, spec.tau_neg,
            MODE=mode, SURROGATE=SURROGATES[spec.surrogate],
            KL=0 if inputs is None or inputs.ref is None else KLS[spec.kl], CORRECT=spec.kl_correction,
            ON_POLICY=inputs is not None and inputs.old is None,
            ACC=tl.float64 if wide == torch.float64 else tl.float32,
            BLOCK=block or min(BLOCK, triton.next_power_of_2(vocab)), num_warps=WARPS,
        )  # fmt: skip
    return TokenStats(logp, entropy, lse, pg, kl, clipped.bool())
