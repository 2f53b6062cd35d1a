"""The Triton kernels against float64 references: the interpreter on a CPU, the compiled kernel where a GPU is."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import triton

from assay.trainer_adapter.grpo.kernels import logits as kernel
from assay.trainer_adapter.grpo.kernels.advantage import KINDS, advantages
from assay.trainer_adapter.grpo.kernels.compile import Report, cases
from assay.trainer_adapter.grpo.kernels.inplace import in_place_loss
from assay.trainer_adapter.grpo.kernels.linear import fused_loss
from assay.trainer_adapter.grpo.objective.advantages import group_advantages
from assay.trainer_adapter.grpo.objective.backend import head_loss, logits_loss, token_logp
from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec, loss_of
from assay.trainer_adapter.grpo.objective.presets import PRESETS
from assay.trainer_adapter.grpo.objective.segments import offsets_of, per_token
from assay.trainer_adapter.grpo.objective.weights import NORMALISERS, token_weights, totals

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
F64 = torch.float64
LOSSES = {
    "clip": LossSpec(kl="none"),
    "dual": LossSpec(clip_low=0.1, clip_high=0.28, dual_clip=1.5),
    "cispo": LossSpec(surrogate="cispo", ratio_cap=1.1),
    "sapo": LossSpec(surrogate="sapo"),
}
KLS = [("none", False), ("k1", False), ("k2", False), ("k3", False), ("k1", True), ("k3", True)]
TOLERANCE = {torch.float32: 5e-5, torch.bfloat16: 1e-2, torch.float16: 2e-3}


def case(
    lengths: list[int], vocab: int, *, normaliser: str = "tokens", dtype: torch.dtype = torch.float32, seed: int = 0,
    temperature: float = 1.0, beta: float = 0.3,
) -> tuple[torch.Tensor, torch.Tensor, LossInputs]:  # fmt: skip
    """Logits, tokens and rows whose ratios lie on both sides of every clip."""
    random = torch.Generator().manual_seed(seed)
    count = sum(lengths)
    logits = (3 * torch.randn(count, vocab, generator=random, dtype=F64)).to(dtype)
    tokens = torch.randint(0, vocab, (count,), generator=random)
    offsets = offsets_of(torch.tensor(lengths))
    logp, _ = token_logp(logits.double(), tokens, temperature=temperature)
    noise = 0.4 * torch.randn(2, count, generator=random, dtype=F64)
    advantages = per_token(torch.randn(len(lengths), generator=random, dtype=F64), offsets)
    every = torch.ones(len(lengths), dtype=torch.bool)
    weights = token_weights(
        offsets, totals(offsets, every), normaliser=normaliser, keep=every, max_tokens=16, beta=beta  # type: ignore[arg-type]
    )  # fmt: skip
    inputs = LossInputs(
        offsets, (logp + noise[0]).float(), advantages.float(), weights.w_pg, weights.w_kl, (logp + noise[1]).float()
    )
    return logits.to(DEVICE), tokens.to(DEVICE), on_device(inputs)


def on_device(inputs: LossInputs) -> LossInputs:
    moved = {name: value.to(DEVICE) for name, value in vars(inputs).items() if value is not None}
    return replace(inputs, **moved)


def as64(inputs: LossInputs) -> LossInputs:
    wide = {n: v.double() for n, v in vars(inputs).items() if v is not None and v.is_floating_point()}
    return replace(inputs, **wide)


def reference(
    logits: torch.Tensor, tokens: torch.Tensor, inputs: LossInputs, spec: LossSpec, temperature: float
) -> tuple[Any, torch.Tensor]:
    z = logits.double().requires_grad_()
    logp, entropy = token_logp(z, tokens, temperature=temperature)
    loss, terms = loss_of(logp, as64(inputs), spec)
    loss.backward()
    assert z.grad is not None
    return {
        "loss": loss.detach(),
        "logp": logp.detach(),
        "entropy": entropy,
        "policy_loss": terms.policy_loss.detach(),
        "kl": terms.kl.detach(),
    }, z.grad


def compare(
    logits: torch.Tensor, tokens: torch.Tensor, inputs: LossInputs, spec: LossSpec, temperature: float, block: int
) -> None:
    want, gradient = reference(logits, tokens, inputs, spec, temperature)
    z = logits.clone().requires_grad_()
    buffer = z * 1
    loss, stats = in_place_loss(buffer, tokens, inputs, spec, temperature=temperature, block=block)
    loss.backward()
    assert z.grad is not None and z.grad.dtype == logits.dtype
    assert loss.item() == pytest.approx(want["loss"].item(), abs=2e-5, rel=1e-4)
    for name in ("logp", "entropy", "policy_loss", "kl"):
        assert torch.allclose(getattr(stats, name).double(), want[name], atol=2e-5, rtol=1e-4), name
    scale = gradient.abs().max().clamp(min=1e-3)
    assert ((z.grad.double() - gradient).abs().max() / scale).item() < TOLERANCE[logits.dtype]


@pytest.mark.parametrize("normaliser", NORMALISERS)
@pytest.mark.parametrize("name", LOSSES)
def test_token_losses_against_float64(name: str, normaliser: str) -> None:
    """Losses x normalisers x KL x temperature x dtype."""
    every = itertools.product(KLS, (1.0, 0.7), TOLERANCE)
    for seed, ((kl, correction), temperature, dtype) in enumerate(every):
        spec = replace(LOSSES[name], kl=kl, kl_correction=correction)
        logits, tokens, inputs = case(
            [1, 2], 37, normaliser=normaliser, dtype=dtype, temperature=temperature, seed=seed
        )
        compare(logits, tokens, inputs, spec, temperature, block=32)


@pytest.mark.parametrize("name", PRESETS)
def test_every_algorithm_against_float64_on_ragged_rows(name: str) -> None:
    for lengths, vocab, block in (([1], 97, 32), ([3, 1, 4], 130, 64), ([2, 2], 257, 256)):
        logits, tokens, inputs = case(lengths, vocab, normaliser=PRESETS[name].normaliser)
        compare(logits, tokens, inputs, PRESETS[name].loss, 1.0, block)


def test_a_real_vocabulary() -> None:
    logits, tokens, inputs = case([2, 1], 151_936, dtype=torch.bfloat16)
    compare(logits, tokens, inputs, PRESETS["dapo"].loss, 0.6, 8192)


@pytest.mark.parametrize("name", ["dapo", "gspo", "gmpo"])
def test_the_fused_head_against_float64(name: str) -> None:
    spec, temperature = PRESETS[name].loss, 0.8
    for dtype, tolerance in ((torch.float32, 2e-5), (torch.bfloat16, 2e-2)):
        random = torch.Generator().manual_seed(1)
        hidden = torch.randn(7, 6, generator=random).to(DEVICE, dtype)
        weight = torch.randn(37, 6, generator=random).to(DEVICE, dtype)
        logits = hidden.double() @ weight.double().t()
        _, tokens, inputs = case([3, 1, 3], 37)
        logp, _ = token_logp(logits, tokens, temperature=temperature)
        inputs = replace(inputs, old=(logp + (inputs.old - inputs.old.mean()) * 0.2).float(), ref=(logp - 0.3).float())
        h64, w64 = hidden.double().requires_grad_(), weight.double().requires_grad_()
        want, _ = loss_of(token_logp(h64 @ w64.t(), tokens, temperature=temperature)[0], as64(inputs), spec)
        want.backward()
        h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        loss, _ = fused_loss(h, w, tokens, inputs, spec, temperature=temperature, chunk=3, block=32)
        loss.backward()
        assert loss.item() == pytest.approx(want.item(), abs=1e-4, rel=1e-4)
        for got, right in ((h.grad, h64.grad), (w.grad, w64.grad)):
            assert got is not None and right is not None
            assert ((got.double() - right).norm() / right.norm()).item() < tolerance


def test_fault_12_a_head_kept_in_fp32_and_run_in_bfloat16_has_its_gradient_rounded_nowhere() -> None:
    _, tokens, inputs = case([3, 1, 3], 37)
    random = torch.Generator().manual_seed(1)
    hidden, weight = (torch.randn(n, 6, generator=random).to(DEVICE).requires_grad_() for n in (7, 37))
    loss, _ = fused_loss(
        hidden, weight, tokens, inputs, LossSpec(), temperature=1.0, chunk=3, block=64, compute=torch.bfloat16
    )
    loss.backward()
    assert weight.grad is not None and weight.grad.dtype == torch.float32
    assert not torch.equal(weight.grad, weight.grad.bfloat16().float())


def test_a_second_backward_is_refused_and_not_wrong() -> None:
    logits, tokens, inputs = case([2], 7)
    h, w = torch.randn(2, 4, device=DEVICE, requires_grad=True), torch.randn(7, 4, device=DEVICE, requires_grad=True)
    z = logits.float().requires_grad_()
    for loss, _ in (
        fused_loss(h, w, tokens, inputs, LossSpec(), temperature=1.0),
        in_place_loss(z * 1, tokens, inputs, LossSpec(), temperature=1.0),
    ):
        loss.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="call backward once for each forward"):
            loss.backward()


@pytest.mark.parametrize("name", ["grpo", "gspo"])
def test_both_backends_give_the_same_numbers(name: str) -> None:
    _, tokens, inputs = case([3, 1, 3], 37)
    inputs = replace(
        inputs, advantages=inputs.advantages * torch.tensor([1, 1, 1, 0, 1, 1, 1], device=DEVICE), w_kl=inputs.w_kl * 0
    )
    random = torch.Generator().manual_seed(1)
    hidden, weight = (torch.randn(n, 6, generator=random).to(DEVICE) for n in (7, 37))
    results = []
    for backend in ("torch", "triton"):
        h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        loss, stats = head_loss(h, w, tokens, inputs, PRESETS[name].loss, temperature=0.8, backend=backend)  # type: ignore[arg-type]
        loss.backward()
        z = (hidden @ weight.t()).requires_grad_()
        again, _ = logits_loss(z * 1, tokens, inputs, PRESETS[name].loss, temperature=0.8, backend=backend)  # type: ignore[arg-type]
        assert again.item() == pytest.approx(loss.item(), rel=1e-4, abs=1e-6)
        results.append([loss.detach(), h.grad, w.grad, stats.logp, stats.entropy, stats.seen.float()])
    for a, b in zip(*results, strict=True):
        assert a is not None and b is not None and torch.allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("name", ["dapo", "gspo", "sapo"])
def test_on_policy_is_an_old_policy_that_is_the_policy(name: str) -> None:
    logits, tokens, inputs = case([2, 3], 70)
    now = kernel.forward(logits, tokens, temperature=1.0, block=32).logp
    results = []
    for old in (now, None):
        z = logits.clone().requires_grad_()
        loss, _ = in_place_loss(z * 1, tokens, replace(inputs, old=old), PRESETS[name].loss, temperature=1.0, block=32)
        loss.backward()
        results.append((loss.detach(), z.grad))
    assert torch.allclose(results[0][0], results[1][0], atol=1e-6)
    assert results[0][1] is not None and torch.allclose(results[0][1], results[1][1], atol=1e-6)


def test_dead_rows_are_bitwise_zero_and_are_not_read() -> None:
    logits, tokens, inputs = case([2, 2], 70)
    now = token_logp(logits, tokens, temperature=1.0)[0]
    inputs = replace(
        inputs, w_kl=inputs.w_kl * 0, old=now, advantages=torch.tensor([0.0, 0.0, 1.0, 1.0], device=DEVICE)
    )
    logits[:2] = float("nan")
    stats = kernel.both_(logits, tokens, inputs, LossSpec(), temperature=1.0, block=32)
    assert logits[:2].view(torch.int32).abs().max() == 0 and logits[2:].abs().max() > 0
    assert stats.policy_loss.isfinite().all() and stats.logp[:2].abs().max() == 0


def test_a_clipped_row_is_bitwise_zero() -> None:
    logits, tokens, inputs = case([2], 70)
    inputs = replace(inputs, w_kl=inputs.w_kl * 0, advantages=torch.ones(2, device=DEVICE), old=inputs.old - 5)
    stats = kernel.both_(logits, tokens, inputs, LossSpec(), temperature=1.0, block=32)
    assert stats.clipped.all() and logits.view(torch.int32).abs().max() == 0


def test_fault_13_logits_of_minus_infinity_are_legal() -> None:
    """A masked vocabulary: p log p is 0 * -inf, NaN in TRL's kernel and in the plain formula."""
    logits, tokens, inputs = case([3], 70)
    logits[:, 1:40] = float("-inf")
    logits[0, :64] = float("-inf")
    tokens[:] = torch.tensor([69, 0, 45], device=DEVICE)
    every = torch.log_softmax(logits, -1)
    assert (every.exp() * every).sum(-1).isnan().all()
    stats = kernel.forward(logits, tokens, temperature=1.0, block=32)
    logp, entropy = token_logp(logits.double(), tokens, temperature=1.0)
    assert torch.allclose(stats.entropy.double(), entropy, atol=1e-5)
    assert torch.allclose(stats.logp.double(), logp, atol=1e-5)
    kernel.both_(logits, tokens, inputs, LossSpec(), temperature=1.0, block=32)
    assert logits.isfinite().all()


def test_a_chosen_token_that_is_impossible_leaves_the_gradient_finite() -> None:
    logits, tokens, inputs = case([1, 1], 70)
    logits[0, int(tokens[0])] = float("-inf")
    kernel.both_(logits, tokens, inputs, LossSpec(), temperature=1.0, block=32)
    assert logits.isfinite().all()


def test_fault_14_a_log_prob_is_never_above_zero() -> None:
    logits, tokens, _ = case([4] * 8, 33, seed=5)
    logits[torch.arange(32), tokens] += 60
    assert kernel.forward(logits, tokens, temperature=1.0, block=32).logp.max() <= 0
    assert token_logp(logits, tokens, temperature=1.0)[0].max() <= 0


def test_in_place_means_within_the_rows_and_nothing_beside_them() -> None:
    guard = torch.full((6, 96), 7.25, device=DEVICE)
    logits, tokens, inputs = case([2, 2], 70)
    view = guard[1:5, 8:78]
    view.copy_(logits)
    kernel.both_(view, tokens, inputs, LossSpec(), temperature=1.0, block=64)
    rest = guard.clone()
    rest[1:5, 8:78] = 7.25
    assert (rest == 7.25).all() and not (view == logits).any()


def test_runs_repeat_bit_for_bit_and_blocks_do_not_matter() -> None:
    results = []
    for block in (64, 64, 32):
        logits, tokens, inputs = case([2, 3], 150)
        kernel.both_(logits, tokens, inputs, LossSpec(), temperature=0.9, block=block)
        results.append(logits)
    assert torch.equal(results[0], results[1]) and torch.allclose(results[0], results[2], atol=1e-6)


class Kept(torch.autograd.Function):
    """The in-place loss on a copy; its gradient is kept, because gradcheck asks for it again and again."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, tokens: torch.Tensor, inputs: LossInputs, spec: LossSpec) -> torch.Tensor:
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            loss, _ = in_place_loss(z * 1.0, tokens, inputs, spec, temperature=0.5, block=4)
            (ctx.kept,) = torch.autograd.grad(loss, z)
        return loss.detach()

    @staticmethod
    def backward(ctx: Any, above: torch.Tensor) -> Any:
        return ctx.kept * above, None, None, None


def test_gradcheck_in_float64() -> None:
    _, tokens, inputs = case([1, 1], 7)
    wide = replace(as64(inputs), old=inputs.old.double().round(decimals=1))
    for spec in (
        LossSpec(clip_low=0.25, clip_high=0.5),
        LossSpec(surrogate="sapo", tau_neg=2.0, kl="k2", kl_correction=True),
    ):
        z = torch.randn(2, 7, dtype=F64, generator=torch.Generator().manual_seed(2)).to(DEVICE).requires_grad_()
        assert torch.autograd.gradcheck(Kept.apply, (z, tokens, wide, spec), eps=1e-6, atol=1e-6)


def test_the_kernel_refuses_a_loss_that_spans_tokens() -> None:
    logits, tokens, inputs = case([2], 7)
    with pytest.raises(ValueError, match="depends on other tokens"):
        kernel.both_(logits, tokens, inputs, PRESETS["gspo"].loss, temperature=1.0)


def test_vectors_that_are_columns_or_expanded_are_read_as_what_they_hold() -> None:
    logits, tokens, inputs = case([3, 2], 70)
    spec, count = LossSpec(kl="k3"), len(tokens)
    ones = torch.ones(1, device=DEVICE)
    plain = replace(inputs, w_pg=ones.repeat(count))
    table = {name: torch.stack([one, one + 9], 1)[:, 0] for name, one in vars(plain).items() if name != "offsets"}
    strided = replace(plain, **{**table, "w_pg": ones.expand(count)})
    column = torch.stack([tokens, tokens * 0], 1)[:, 0]
    want, got = logits.clone(), logits.clone()
    a, b = (
        kernel.both_(z, ids, some, spec, temperature=1.0)
        for z, ids, some in ((want, tokens, plain), (got, column, strided))
    )
    assert torch.equal(want, got) and torch.equal(a.policy_loss, b.policy_loss) and torch.equal(a.kl, b.kl)
    want, got = logits.clone(), logits.clone()
    kernel.backward_(want, tokens, a.lse, plain.advantages, temperature=1.0)
    kernel.backward_(got, column, torch.stack([a.lse, a.lse * 0], 1)[:, 0], strided.advantages, temperature=1.0)
    assert torch.equal(want, got)


def test_the_kernel_of_advantages_gives_zero_where_std_and_eps_are() -> None:
    rewards, scores = torch.full((4,), 0.3, device=DEVICE), torch.tensor([1.0, 0.0, 0.0, 1.0], device=DEVICE)
    offsets = torch.stack([torch.tensor([0, 4]), torch.tensor([9, 9])], 1)[:, 0].to(DEVICE)
    got = advantages(rewards, offsets, scores=scores, eps=0.0, backend="triton")
    assert got.live.all() and got.values.tolist() == [0.0] * 4


def test_no_rows_at_all() -> None:
    _, tokens, inputs = case([1], 7)
    inputs = replace(inputs, advantages=inputs.advantages * 0, w_kl=inputs.w_kl * 0)
    h, w = torch.randn(1, 4, device=DEVICE, requires_grad=True), torch.randn(7, 4, device=DEVICE, requires_grad=True)
    loss, stats = fused_loss(h, w, tokens, inputs, LossSpec(), temperature=1.0)
    loss.backward()
    assert loss.item() == 0 and not stats.seen.any()
    assert h.grad is not None and w.grad is not None and h.grad.abs().max() == 0 and w.grad.abs().max() == 0


# --- group advantages ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_group_advantages_against_float64(kind: str) -> None:
    random = torch.Generator().manual_seed(0)
    sizes = torch.tensor([4, 1, 7, 2, 16])
    rewards = torch.rand(30, generator=random)
    rewards[[0, 5, 12]] = float("nan")
    rewards[12:14] = 0.7
    scores = torch.where(torch.rand(30, generator=random) > 0.5, rewards, float("nan"))
    offsets = offsets_of(sizes)
    want = group_advantages(rewards.double(), offsets, kind=kind, scores=scores.double())  # type: ignore[arg-type]
    got = advantages(rewards.to(DEVICE), offsets.to(DEVICE), kind=kind, scores=scores.to(DEVICE), backend="triton")  # type: ignore[arg-type]
    assert torch.allclose(got.values.cpu().double(), want.values, atol=1e-5)
    assert got.live.tolist() == want.live.tolist() and got.scored.tolist() == want.scored.tolist()
    assert torch.allclose(got.mean.cpu().double(), want.mean, atol=1e-6)
    assert torch.allclose(got.std.cpu().double(), want.std, atol=1e-6)


def test_the_kernel_gives_exactly_zero_for_equal_rewards_in_groups_of_2_to_64() -> None:
    for reward in (0.1, 0.3, 0.7):
        sizes = torch.arange(2, 65)
        rewards = torch.full((int(sizes.sum()),), reward, device=DEVICE)
        got = advantages(rewards, offsets_of(sizes).to(DEVICE), spread=0.0, eps=1e-9, backend="triton")
        assert got.values.view(torch.int32).abs().max() == 0 and not got.live.any()


def test_the_kernels_run_where_they_claim_to() -> None:
    assert triton.knobs.runtime.interpret == (DEVICE == "cpu")


# --- compiled for GPUs that are not here ----------------------------------------------------------


@pytest.mark.timeout(1200)
def test_compiled_ahead_of_time_for_three_gpus_within_the_gates(tmp_path: Path) -> None:
    """No spills, at most 128 registers, 16-byte loads and stores, no fp64; sm_80, sm_90, sm_100."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "assay.trainer_adapter.grpo.kernels.compile"],
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()[1:]
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(lines) == 3 * 15 and all("sm_" in line for line in lines)


def test_a_gate_that_fails_is_named() -> None:
    some, *_ = cases()
    report = Report(registers=200, stack=160, wide_loads=0, loads=39, wide_stores=0, doubles=3)
    assert report.faults(some) == ["160 bytes of stack", "200 registers", "no 16-byte load", "3 fp64 operations"]
