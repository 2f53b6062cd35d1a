"""Group advantages: exact zeros, baselines, and the faults of shipping libraries (research/grpo.md 1.4, by number)."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.trainer_adapter.grpo.objective.advantages import group_advantages

KINDS = ["group_std", "group", "rloo", "whiten"]
NAN = math.nan


def one(rewards: list[float], dtype: torch.dtype = torch.float32, **options: object) -> torch.Tensor:
    offsets = torch.tensor([0, len(rewards)])
    return group_advantages(torch.tensor(rewards, dtype=dtype), offsets, **options).values  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reward", [0.0, 0.1, 0.3, 0.7, 1.0, -2.3, 1e6])
def test_equal_rewards_give_exactly_zero_in_groups_of_2_to_64(kind: str, reward: float) -> None:
    for size in range(2, 65):
        assert one([reward] * size, kind=kind, spread=0.0).abs().max() == 0.0


def test_fault_1_a_rounded_mean_makes_equal_rewards_look_different() -> None:
    rewards = torch.full((12,), 0.7)
    faulty = (rewards - rewards.mean()) / (rewards.std() + 1e-9)
    assert faulty.abs().max() > 0.5
    assert one([0.7] * 12, eps=1e-9, spread=0.0).abs().max() == 0.0


def test_fault_2_a_variance_of_squares_blows_up() -> None:
    rewards = torch.tensor([0.35] * 7 + [0.0])
    others = torch.stack([torch.cat([rewards[:i], rewards[i + 1 :]]) for i in range(8)])
    std = ((others**2).mean(1) - others.mean(1) ** 2).clamp(min=0).sqrt()
    faulty = (rewards - others.mean(1)) / (std + 1e-6)
    assert faulty.abs().max() > 100
    assert one([0.35] * 7 + [0.0]).abs().max() < 3
    assert one([0.35] * 7 + [0.0], kind="rloo")[-1] == pytest.approx(-0.35)


def test_fault_8_shaping_does_not_wake_a_group_that_is_all_wrong() -> None:
    shaped, wrong = torch.tensor([0.1, -0.1, 0.05, 0.0]), torch.zeros(4)
    offsets = torch.tensor([0, 4])
    assert group_advantages(shaped, offsets).values.abs().max() > 0.5
    gated = group_advantages(shaped, offsets, scores=wrong)
    assert gated.values.abs().max() == 0.0 and not gated.live.any()


def test_fault_9_a_completion_without_a_verdict_does_not_shift_its_siblings() -> None:
    assert torch.equal(one([1.0, 0.0, NAN, 1.0]), one([1.0, 0.0, 1.0])[[0, 1, 0, 2]] * torch.tensor([1, 1, 0, 1]))
    as_zero = one([1.0, 0.0, 0.0, 1.0])
    assert abs(float(as_zero[0] - one([1.0, 0.0, NAN, 1.0])[0])) > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_fault_9_a_group_of_one_is_zero_and_not_its_raw_reward(kind: str) -> None:
    assert one([1.0], kind=kind).item() == 0.0
    assert one([NAN, 1.0, NAN], kind=kind).abs().max() == 0.0
    assert one([NAN, NAN], kind=kind).abs().max() == 0.0


def test_the_gate_is_a_range_and_not_the_mean_of_the_group() -> None:
    """OpenRLHF#1270: a filter on the mean lets constant continuous rewards through."""
    assert 0.0 < 0.4 < 1.0 and one([0.4] * 8).abs().max() == 0.0


def test_a_tiny_spread_is_noise_and_is_not_amplified() -> None:
    rewards = [0.5] * 7 + [0.5 + 4e-7]
    assert one(rewards, spread=0.0, eps=1e-9).abs().max() > 2
    assert one(rewards).abs().max() == 0.0


def test_the_formulas_by_hand() -> None:
    rewards = [1.0, 0.0, 0.0, 1.0]
    std = math.sqrt(1 / 3)
    assert one(rewards, eps=0.0).tolist() == pytest.approx([0.5 / std, -0.5 / std, -0.5 / std, 0.5 / std])
    assert one(rewards, kind="group").tolist() == [0.5, -0.5, -0.5, 0.5]
    assert one(rewards, kind="rloo").tolist() == pytest.approx([2 / 3, -2 / 3, -2 / 3, 2 / 3])


def test_whitening_spans_the_window_and_leaves_dead_groups_out() -> None:
    rewards = torch.tensor([1.0, 0.0, 0.7, 0.7, 0.25, 0.75], dtype=torch.float64)
    done = group_advantages(rewards, torch.tensor([0, 2, 4, 6]), kind="whiten")
    live = done.values[[0, 1, 4, 5]]
    assert done.values[2:4].abs().max() == 0.0 and done.live.tolist() == [True, False, True]
    assert live.square().mean().item() == pytest.approx(1.0) and live.mean().item() == pytest.approx(0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rewards_give_zero_in_a_group_that_its_scores_keep_alive(kind: str) -> None:
    """And eps = 0 is no 0/0 there; nor does the window's mean leak in."""
    rewards = torch.tensor([0.3, 0.3, 0.3, 0.1, 0.7, 0.35])
    scores = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    done = group_advantages(rewards, torch.tensor([0, 3, 6]), kind=kind, scores=scores, eps=0.0)  # type: ignore[arg-type]
    assert done.live.all() and done.values[:3].tolist() == [0.0] * 3 and done.values[3:].abs().min() > 0


def test_rloo_divides_in_the_rewards_own_precision() -> None:
    rewards = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    got = group_advantages(rewards, torch.tensor([0, 8]), kind="rloo").values
    assert got[1].item() == pytest.approx(-1 / 7, rel=1e-14) and got[0].item() == pytest.approx(1.0, rel=1e-14)


def test_groups_may_have_any_size() -> None:
    rewards = torch.tensor([1.0, 0.0, 0.5, 1.0, 0.0, 0.0], dtype=torch.float64)
    done = group_advantages(rewards, torch.tensor([0, 2, 3, 3, 6]), kind="group")
    assert done.values.tolist() == pytest.approx([0.5, -0.5, 0.0, 2 / 3, -1 / 3, -1 / 3])
    assert done.live.tolist() == [True, False, False, True] and done.scored.tolist() == [2, 1, 0, 3]
    assert done.mean.tolist() == pytest.approx([0.5, 0.5, 0.0, 1 / 3])


@given(st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=16), st.floats(-5, 5, width=32))
def test_a_shift_of_all_rewards_changes_nothing(rewards: list[float], shift: float) -> None:
    moved = one([reward + shift for reward in rewards], torch.float64, spread=1e-3)
    assert torch.allclose(one(rewards, torch.float64, spread=1e-3), moved, atol=1e-6)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=16), st.sampled_from(["group_std", "group", "rloo"]))
def test_advantages_of_a_group_sum_to_zero_and_keep_its_order(rewards: list[float], kind: str) -> None:
    values = one(rewards, torch.float64, kind=kind)
    assert abs(float(values.sum())) < 1e-9
    if values.abs().max() > 0:
        assert torch.equal(values[torch.tensor(rewards).argsort(stable=True)].sort().values, values.sort().values)
