"""Losses, weights, corrections: formulas by hand, and the faults of shipping libraries by number."""

import math
from dataclasses import replace

import pytest
import torch

from assay.trainer_adapter.grpo.objective.correction import Ess, rollout_correction
from assay.trainer_adapter.grpo.objective.losses import LossInputs, LossSpec, kl_in_reward, loss_of, terms_of
from assay.trainer_adapter.grpo.objective.presets import PRESETS
from assay.trainer_adapter.grpo.objective.segments import offsets_of, segment_mean, segment_sum
from assay.trainer_adapter.grpo.objective.weights import Totals, token_weights, totals

F64 = torch.float64
ALL = torch.tensor([True, True])


def inputs_of(
    change: list[float], advantage: list[float], lengths: list[int], ref: list[float] | None = None
) -> LossInputs:
    offsets = offsets_of(torch.tensor(lengths))
    old = torch.full((len(change),), -2.0, dtype=F64)
    ones = torch.ones(len(change), dtype=F64)
    reference = None if ref is None else torch.tensor(ref, dtype=F64)
    return LossInputs(offsets, old, torch.tensor(advantage, dtype=F64), ones, ones, reference)


def logp(change: list[float]) -> torch.Tensor:
    return (torch.tensor(change, dtype=F64) - 2.0).requires_grad_()


def policy(change: list[float], advantage: list[float], lengths: list[int], **spec: object) -> list[float]:
    return terms_of(logp(change), inputs_of(change, advantage, lengths), LossSpec(**spec)).policy_loss.tolist()  # type: ignore[arg-type]


def test_clip_higher_by_hand() -> None:
    up, down = math.log(2.0), math.log(0.5)
    assert policy([up, down, up, down], [1, 1, -1, -1], [4], clip_low=0.2, clip_high=0.28) == pytest.approx(
        [-1.28, -0.5, 2.0, 0.8]
    )


def test_dual_clip_bounds_the_loss_of_a_bad_token_only() -> None:
    assert policy([3.0, 3.0], [-1, 1], [2], dual_clip=3.0) == pytest.approx([3.0, -1.2])


@pytest.mark.parametrize("other", [{"surrogate": "cispo"}, {"surrogate": "sapo"}, {"ratio": "geometric"}])
def test_a_dual_clip_that_the_loss_has_no_place_for_is_refused(other: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="dual_clip goes with"):
        LossSpec(dual_clip=3.0, **other)


def test_a_dual_clip_within_the_clip_is_refused_because_it_would_bound_good_tokens() -> None:
    """min(r, 1.1) A at A > 0 and r = 1.3 would be 1.1 where PPO has 1.28, and its gradient is 0 on half of the clip."""
    for bound in (0.5, 1.0, 1.1, 1.28, math.nan):
        with pytest.raises(ValueError, match="dual_clip is above 1"):
            LossSpec(clip_high=0.28, dual_clip=bound)
    assert policy([math.log(1.3)], [1], [1], clip_high=0.28, dual_clip=1.29) == pytest.approx([-1.28])


def test_what_is_no_loss_is_refused() -> None:
    for wrong in ({"tau_pos": 0.0}, {"tau_neg": -1.0}, {"clip_low": -0.1}, {"ratio_cap": 0.0}):
        with pytest.raises(ValueError, match=r"above 0|at least 0"):
            LossSpec(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="geometric"):
        LossSpec(ratio="geometric", surrogate="sapo")


def test_gspo_is_the_geometric_mean_and_rloo_the_product() -> None:
    change = [0.1, 0.05, 0.15]
    wide = {"clip_low": 0.9, "clip_high": 9.0}
    assert policy(change, [1] * 3, [3], ratio="sequence", **wide) == pytest.approx([-math.exp(0.1)] * 3)
    assert policy(change, [1] * 3, [3], ratio="trajectory", **wide) == pytest.approx([-math.exp(0.3)] * 3)


def test_gspo_token_has_the_value_and_gradient_of_gspo_where_advantages_are_a_sequences() -> None:
    change, advantage, lengths = [0.1, -0.2, 0.3, 0.2, 0.1], [1.0, 1.0, 1.0, -2.0, -2.0], [3, 2]
    grads = []
    for ratio in ("sequence", "sequence_token"):
        at = logp(change)
        loss_of(at, inputs_of(change, advantage, lengths), LossSpec(ratio=ratio))[0].backward()  # type: ignore[arg-type]
        grads.append(at.grad)
    assert torch.allclose(grads[0], grads[1])


def test_cispo_keeps_the_gradient_of_clipped_tokens_and_its_cap_is_the_ratio_itself() -> None:
    at = logp([math.log(8.0), 0.0])
    loss_of(at, inputs_of([0, 0], [1.0, 1.0], [2]), LossSpec(surrogate="cispo", ratio_cap=5.0))[0].backward()
    assert at.grad is not None and at.grad.tolist() == pytest.approx([-5.0, -1.0])


def test_fault_6_the_same_number_under_the_other_convention_is_another_loss() -> None:
    raw, delta = (policy([math.log(8.0)], [1.0], [1], surrogate="cispo", ratio_cap=cap)[0] for cap in (5.0, 1 + 5.0))
    assert raw != pytest.approx(delta)


def test_sapo_by_hand() -> None:
    value = policy([math.log(2.0)] * 2, [1.0, -1.0], [2], surrogate="sapo")
    sig = [1 / (1 + math.exp(-1.0)), 1 / (1 + math.exp(-1.05))]
    assert value == pytest.approx([-4 * sig[0], 4 / 1.05 * sig[1]])


def test_gmpo_clips_one_side_in_log_space() -> None:
    assert policy([1.0, -1.0], [1, 1], [2], ratio="geometric", clip_low=0.4, clip_high=0.4) == pytest.approx(
        [-math.exp((0.4 - 1.0) / 2)] * 2
    )


@pytest.mark.parametrize("name", PRESETS)
def test_a_ratio_beyond_exps_range_stays_finite(name: str) -> None:
    """TRL and Liger do not bound the log-ratio: exp(89) is inf in fp32, and inf * 0 is NaN."""
    assert not math.isfinite(float(torch.tensor(89.0).exp()))
    at = torch.tensor([-0.1, -0.2], requires_grad=True)
    half = LossInputs(
        torch.tensor([0, 2]), at.detach() - 100, torch.tensor([1.0, -1.0]), torch.ones(2), torch.ones(2), at * 0 - 200.0
    )
    loss_of(at, half, PRESETS[name].loss)[0].backward()
    assert at.grad is not None and at.grad.isfinite().all()


def test_kl_estimators_by_hand() -> None:
    q = [0.5, -0.3]
    for kl, want in {"k1": [-0.5, 0.3], "k2": [0.125, 0.045], "k3": [math.exp(x) - x - 1 for x in q]}.items():
        got = terms_of(logp([0, 0]), inputs_of([0, 0], [0, 0], [2], [-1.5, -2.3]), LossSpec(kl=kl)).kl  # type: ignore[arg-type]
        assert got.tolist() == pytest.approx(want)


def test_k1_in_a_loss_has_no_gradient_on_average_and_with_correction_that_of_the_kl() -> None:
    torch.manual_seed(0)
    z, ref = torch.randn(7, dtype=F64, requires_grad=True), torch.log_softmax(torch.randn(7, dtype=F64), -1)
    p = torch.log_softmax(z, -1)
    truth = torch.autograd.grad((p.exp() * (p - ref)).sum(), z, retain_graph=True)[0]
    old = p.detach()
    for kl, corrected, right in (("k1", False, False), ("k2", False, True), ("k1", True, True), ("k3", True, True)):
        seven = LossInputs(
            torch.tensor([0, 7]), old, torch.zeros(7, dtype=F64), torch.zeros(7, dtype=F64), old.exp(), ref
        )
        loss, _ = loss_of(p, seven, LossSpec(kl=kl, kl_correction=corrected))  # type: ignore[arg-type]
        got = torch.autograd.grad(loss, z, retain_graph=True)[0]
        assert torch.allclose(got, truth, atol=1e-9) == right, (kl, corrected)


def test_kl_in_the_reward_is_a_sequences_sum() -> None:
    old, ref = torch.tensor([-1.0, -2.0, -3.0]), torch.tensor([-1.5, -2.5, -1.0])
    got = kl_in_reward(torch.tensor([1.0, 0.0]), old, ref, torch.tensor([0, 2, 3]), beta=0.1, kl="k1")
    assert got.tolist() == pytest.approx([1.0 - 0.1 * 1.0, 0.0 + 0.1 * 2.0])


# --- weights -----------------------------------------------------------------------------------


def base(lengths: list[int], normaliser: str, *, counted: list[bool] | None = None, **options: object) -> torch.Tensor:
    offsets = offsets_of(torch.tensor(lengths))
    keep = torch.ones(len(lengths), dtype=torch.bool)
    whole = totals(offsets, keep if counted is None else torch.tensor(counted))
    settings = {"keep": keep, "max_tokens": 10, **options}
    return token_weights(offsets, whole, normaliser=normaliser, **settings).w_pg  # type: ignore[arg-type]


def test_normalisers_by_hand() -> None:
    assert base([1, 3], "sequence").tolist() == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    assert base([1, 3], "tokens").tolist() == pytest.approx([1 / 4] * 4)
    assert base([1, 3], "constant").tolist() == pytest.approx([1 / 20] * 4)
    assert base([1, 3], "sum").tolist() == pytest.approx([1 / 2] * 4)


def test_fault_3_a_mean_of_micro_batches_is_not_the_mean_of_the_batch() -> None:
    losses, lengths = torch.arange(1.0, 9.0, dtype=F64), [1, 7]
    faulty = (losses[:1].mean() + losses[1:].mean()) / 2
    right = float((base(lengths, "tokens").to(F64) * losses).sum())
    assert right == pytest.approx(4.5) and abs(float(faulty) - right) > 1


def test_fault_4_dr_grpo_divides_by_the_cap_and_never_by_the_padded_width() -> None:
    losses, width = torch.ones(4), 3
    faulty = losses.sum() / (2 * width)
    assert float((base([1, 3], "constant") * losses).sum()) == pytest.approx(4 / 20) != pytest.approx(float(faulty))


def test_fault_7_the_denominator_says_whether_it_counts_dead_groups() -> None:
    assert base([2, 2], "tokens")[0] == 0.25
    assert base([2, 2], "tokens", counted=[True, False])[0] == 0.5


def test_fault_7_truncated_sequences_that_are_masked_are_in_no_denominator() -> None:
    whole = totals(torch.tensor([0, 4, 4]), ALL)
    assert (whole.sequences, whole.tokens) == (1.0, 4.0)


def test_fault_15_a_masked_mean_over_nothing_is_zero_and_not_nan() -> None:
    """OpenRLHF's masked_mean: sum(x * mask) / sum(mask)."""
    x, mask = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 1.0], [0.0, 0.0]])
    faulty = (x * mask).sum(1) / mask.sum(1)
    assert faulty.isnan().any()
    offsets = offsets_of(torch.tensor([2, 0]))
    assert segment_mean(torch.tensor([1.0, 2.0]), offsets).tolist() == [1.5, 0.0]
    assert segment_sum(torch.zeros(0), torch.tensor([0, 0])).tolist() == [0.0]
    empty = token_weights(torch.tensor([0, 0]), Totals(0, 0), normaliser="sequence", keep=ALL[:1], max_tokens=4)
    assert empty.w_pg.numel() == 0


def test_fault_15_padding_inside_a_mean_weakens_long_padded_rows() -> None:
    """The masked mean that the field was warned of: dividing by the padded width instead of by the mask."""
    per_token, mask = torch.tensor([[1.0, 1.0, 0.0, 0.0], [1.0] * 4]), torch.tensor([[1.0, 1, 0, 0], [1.0] * 4])
    faulty = ((per_token * mask).sum(1) / per_token.shape[1]).mean()
    packed = per_token[mask.bool()]
    assert float((base([2, 4], "sequence") * packed).sum()) == pytest.approx(1.0) != pytest.approx(float(faulty))


def test_a_mean_over_ranks_is_undone() -> None:
    assert base([2, 2], "tokens", ranks=4)[0] == 4 * base([2, 2], "tokens")[0]


def test_kept_out_sequences_weigh_nothing_and_kl_may_stay() -> None:
    offsets, whole = torch.tensor([0, 2, 4]), Totals(2, 4)
    got = token_weights(
        offsets, whole, normaliser="tokens", keep=torch.tensor([True, False]), kl_keep=ALL, max_tokens=4, beta=0.5
    )
    assert got.w_pg.tolist() == [0.25, 0.25, 0.0, 0.0] and got.w_kl.tolist() == [0.125] * 4


# --- the generator's policy ----------------------------------------------------------------------


def corrected(mode: str, **bounds: float) -> list[float]:
    old, rollout = torch.tensor([0.0, -1.0, -1.0, -1.0], dtype=F64), torch.tensor([0.0, -2.0, -1.1, -0.8], dtype=F64)
    return rollout_correction(old, rollout, torch.tensor([0, 2, 4]), mode=mode, **bounds).ratio.tolist()  # type: ignore[arg-type]


def test_corrections_by_hand() -> None:
    assert corrected("none") == [1.0] * 4
    assert corrected("token_truncate") == pytest.approx([1.0, 2.0, math.exp(0.1), math.exp(-0.2)])
    assert corrected("token_mask", low=0.9) == pytest.approx([1.0, 0.0, math.exp(0.1), 0.0])
    assert corrected("sequence_truncate") == pytest.approx([2.0, 2.0, math.exp(-0.1), math.exp(-0.1)])
    assert corrected("sequence_mask") == pytest.approx([0.0, 0.0, math.exp(-0.1), math.exp(-0.1)])
    assert corrected("geometric_mask", high=1.2) == pytest.approx([0.0, 0.0, math.exp(0.1), math.exp(-0.2)])


def test_a_missing_rollout_log_prob_counts_as_ratio_one_and_is_counted() -> None:
    got = rollout_correction(torch.zeros(2), torch.tensor([math.nan, 0.0]), torch.tensor([0, 2]), mode="token_truncate")
    assert got.ratio.tolist() == [1.0, 1.0] and got.missing == 1


def test_a_sequence_mask_drops_long_sequences_and_a_geometric_one_does_not() -> None:
    """trl#4772: 0.012 a token over 100 tokens is beyond a bound of 3."""
    old, rollout, offsets = torch.zeros(100), torch.full((100,), -0.012), torch.tensor([0, 100])
    drop = rollout_correction(old, rollout, offsets, mode="sequence_mask", high=3.0)
    keep = rollout_correction(old, rollout, offsets, mode="geometric_mask", high=3.0)
    assert drop.ratio.max() == 0.0 and keep.ratio.min() > 1.0


def test_fault_10_log_probs_of_another_temperature_are_another_policy() -> None:
    z = torch.tensor([2.0, 0.0, -1.0])
    raw, sampled = torch.log_softmax(z, 0)[2], torch.log_softmax(z / 2.0, 0)[2]
    assert float((sampled - raw).exp()) > 2.0


def test_ess_adds_up_over_any_split_and_falls_with_one_heavy_weight() -> None:
    weights = torch.tensor([1.0, 2.0, 3.0, 10.0])
    assert Ess.of(weights).share == pytest.approx((Ess.of(weights[:1]) + Ess.of(weights[1:])).share)
    assert Ess.of(torch.ones(9)).share == 1.0
    assert Ess.of(torch.tensor([1e6, 1.0, 1.0, 1.0])).share == pytest.approx(0.25, rel=1e-4)
    assert Ess().share == 0.0


def test_dead_rows_are_those_without_any_gradient() -> None:
    some = replace(inputs_of([0] * 3, [0, 1, 1], [3]), w_kl=torch.zeros(3), w_pg=torch.tensor([1.0, 0.0, 1.0]))
    assert some.zero_gradient.tolist() == [True, True, False]
