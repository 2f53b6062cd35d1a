"""Sampling: from the policy itself, the same in any batch, with budgets and without waste."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.trainer_adapter.grpo.objective.batch import Entry, micro_batches
from assay.trainer_adapter.grpo.policy import Policy
from assay.trainer_adapter.grpo.rollout.data import Draw, Prompt
from assay.trainer_adapter.grpo.rollout.generate import LocalGenerator
from assay.trainer_adapter.grpo.rollout.samples import Sample
from assay.trainer_adapter.grpo.rollout.sampling import choose, key, uniforms
from assay.trainer_adapter.grpo.rollout.sequence import Sampling
from assay.trainer_adapter.grpo.run.config import Thinking

from ._tiny import policy_of


@pytest.fixture(scope="module")
def policy(paths: dict[str, str]) -> Policy:
    return policy_of(paths)


def draws(policy: Policy, *texts: str, start: int = 0) -> list[Draw]:
    encoded = [tuple(policy.tokenizer(text)["input_ids"]) for text in texts]
    return [Draw(start + at, Prompt({}, text, ids)) for at, (text, ids) in enumerate(zip(texts, encoded, strict=True))]


def sample(
    policy: Policy, wanted: list[Draw], *, enough: Any = lambda _: False, batch: int = 64, **how: Any
) -> list[Sample]:
    settings = {"samples": 3, "max_tokens": 6, "temperature": 1.0, "seed": 5, **how}
    found: list[Sample] = []
    LocalGenerator(policy, batch=batch).run(wanted, Sampling(**settings), found.append, enough)
    return sorted(found, key=lambda one: (one.draw, one.index))


@given(st.integers(0, 2**62), st.integers(0, 4096))
def test_uniforms_lie_in_the_unit_interval(number: int, step: int) -> None:
    value = float(uniforms(torch.tensor([number]), step)[0])
    assert 0.0 <= value < 1.0


def test_uniforms_look_uniform_and_independent_over_keys_and_tokens() -> None:
    keys = torch.tensor([key(1, 0, draw, index) for draw in range(100) for index in range(20)])
    table = torch.stack([uniforms(keys, step) for step in range(20)])
    counts = torch.histc(table.float(), 20, 0, 1)
    assert ((counts - 2000) ** 2 / 2000).sum() < 50
    assert abs(float(torch.corrcoef(table[:2])[0, 1])) < 0.1 and len(keys.unique()) == 2000


def test_tokens_come_with_the_probabilities_of_the_temperature() -> None:
    logits = torch.tensor([[1.0, 0.0, -1.0, float("-inf")]]).expand(20000, 4)
    token, logp = choose(logits, torch.rand(20000, generator=torch.Generator().manual_seed(0)), temperature=0.5)
    want = torch.softmax(logits[0] / 0.5, 0)
    share = torch.bincount(token, minlength=4) / 20000
    assert torch.allclose(share, want, atol=0.015) and share[3] == 0
    assert torch.allclose(logp.exp(), want[token], atol=1e-6)


@pytest.mark.parametrize("random", [0.0, 0.5, 1.0 - 2**-53])
def test_a_token_of_probability_zero_is_never_chosen(random: float) -> None:
    logits = torch.full((1, 64), float("-inf"))
    logits[0, 17] = 0.0
    assert choose(logits, torch.tensor([random], dtype=torch.float64), temperature=1.0)[0].item() == 17


def test_temperature_0_is_greedy(policy: Policy) -> None:
    one, two = (sample(policy, draws(policy, "3+4="), temperature=0.0, samples=1, seed=seed) for seed in (1, 2))
    assert one[0].ids == two[0].ids


def test_a_completion_does_not_depend_on_its_batch(policy: Policy) -> None:
    together = sample(policy, draws(policy, "3+4=", "1+1=", "9+9="))
    alone = [
        one for at, text in enumerate(["3+4=", "1+1=", "9+9="]) for one in sample(policy, draws(policy, text, start=at))
    ]
    split = sample(policy, draws(policy, "3+4=", "1+1=", "9+9="), batch=1)
    assert [one.ids for one in together] == [one.ids for one in alone] == [one.ids for one in split]


def test_prompts_of_different_lengths_are_padded_without_a_trace(policy: Policy) -> None:
    together = sample(policy, draws(policy, "3+4=", "--1+1="))
    alone = sample(policy, draws(policy, "3+4="))
    assert [one.ids for one in together[:3]] == [one.ids for one in alone]
    assert together[0].logps == pytest.approx(alone[0].logps, abs=1e-5)


def test_streams_and_seeds_differ(policy: Policy) -> None:
    texts = [f"{a}+{b}=" for a in range(5) for b in range(5)]
    base = [one.ids for one in sample(policy, draws(policy, *texts))]
    assert base != [one.ids for one in sample(policy, draws(policy, *texts), stream=1)]
    assert base != [one.ids for one in sample(policy, draws(policy, *texts), seed=6)]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_trainer_gives_sampled_tokens_the_log_probs_that_they_were_sampled_with(
    policy: Policy, temperature: float
) -> None:
    """fault 10: the temperature is in both, or the ratio of a fresh sample is not 1."""
    wanted = draws(policy, "3+4=", "8+1=")
    found = sample(policy, wanted, temperature=temperature)
    entries = [Entry(one, wanted[one.draw].prompt.ids, 0.0, True) for one in found]
    (batch,) = micro_batches(entries, micro_tokens=4096, pad_id=0, device=policy.device)
    assert torch.allclose(policy.logps(batch, temperature=temperature), batch.rollout, atol=1e-5)
    assert not torch.allclose(policy.logps(batch, temperature=2.0), batch.rollout, atol=1e-2)


def test_an_end_token_ends_and_a_cap_truncates(policy: Policy) -> None:
    for one in sample(policy, draws(policy, *[f"{a}+1=" for a in range(9)]), max_tokens=2):
        assert one.truncated == (one.ids[-1] not in policy.end_ids) and len(one.ids) <= 2
        assert not any(token in policy.end_ids for token in one.ids[:-1])


def test_stragglers_of_a_group_with_enough_are_not_decoded_further(policy: Policy) -> None:
    wanted = draws(policy, "3+4=", "1+1=")
    finished: list[int] = []

    def enough(draw: int) -> bool:
        return draw == 0

    found = sample(policy, wanted, enough=enough, samples=4)
    assert {one.draw for one in found if one.tokens > 1} <= {1} and len([one for one in found if one.draw == 1]) == 4
    assert not finished


def test_a_thinking_budget_writes_the_end_of_thinking_in_the_models_place(policy: Policy) -> None:
    thinking = Thinking(budget=1, prefilled=True, end="=", close="-=-")
    found = sample(policy, draws(policy, "3+4="), thinking=thinking, max_tokens=6)
    close = policy.tokenizer("-=-")["input_ids"]
    for one in found:
        if len(one.ids) > 4:
            assert one.ids[1:4] == close and one.mask[:4] == [True, False, False, False]
    assert any(len(one.ids) > 4 for one in found)


def test_a_completion_that_does_not_think_is_left_alone(policy: Policy) -> None:
    thinking = Thinking(budget=1, start="+", end="=", close="-=-")
    plain, bounded = (sample(policy, draws(policy, "3+4="), thinking=how) for how in (None, thinking))
    assert [one.ids for one in plain if one.text[:1] != "+"] == [one.ids for one in bounded if one.text[:1] != "+"]


def test_forced_tokens_are_no_rows_of_a_batch(policy: Policy) -> None:
    wanted = draws(policy, "3+4=")
    thinking = Thinking(budget=1, prefilled=True, end="=", close="-=-")
    found = sample(policy, wanted, thinking=thinking, max_tokens=6)
    entries = [Entry(one, wanted[0].prompt.ids, 0.0, True) for one in found]
    (batch,) = micro_batches(entries, micro_tokens=4096, pad_id=0, device=policy.device)
    assert len(batch.positions) == sum(sum(one.mask) for one in found) < sum(one.tokens for one in found)
    assert not batch.rollout.isnan().any()


def test_micro_batches_hold_every_sequence_once_and_keep_their_bound(policy: Policy) -> None:
    wanted = draws(policy, "3+4=", "--1+1=", "9+9=")
    entries = [Entry(one, wanted[one.draw].prompt.ids, 0.0, True) for one in sample(policy, wanted)]
    batches = list(micro_batches(entries, micro_tokens=24, pad_id=0, device=policy.device))
    assert sorted(id(entry) for batch in batches for entry in batch.entries) == sorted(map(id, entries))
    assert all(batch.ids.numel() <= 24 for batch in batches) and len(batches) > 2
