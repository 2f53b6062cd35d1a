"""What a trainer gets if there is no verdict."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.client import ConfigurationError
from assay.trainer_adapter.grades import Grade, Tally
from assay.trainer_adapter.missing import AbstainPolicy, Ungraded

RIGHT, WRONG = Grade(1.0, 1.0, "equal"), Grade(0.0, 0.0, "unequal")
ROW, OURS = Grade.of_row("bad"), Grade.of_outage("gone")
GRADES = st.lists(st.sampled_from([RIGHT, WRONG, ROW, OURS]), max_size=12)


def test_the_default_abstains() -> None:
    assert AbstainPolicy().rewards([RIGHT, ROW, OURS, WRONG]) == [1.0, None, None, 0.0]


@given(GRADES)
def test_no_verdict_is_never_zero_unless_asked_for(grades: list[Grade]) -> None:
    rewards = AbstainPolicy(row="constant").rewards(grades, ["g"] * len(grades))
    if ROW in grades:
        assert set(rewards) <= {0.5}
    else:
        assert [r for r, g in zip(rewards, grades, strict=True) if g is OURS] == [None] * grades.count(OURS)


def test_a_rows_fault_makes_only_its_own_group_constant() -> None:
    policy = AbstainPolicy(row="constant", outage="raise", constant=0.25)
    assert policy.rewards([RIGHT, ROW, WRONG, RIGHT], ["a", "a", "b", "b"]) == [0.25, 0.25, 0.0, 1.0]


def test_an_outage_takes_the_mean_of_its_group() -> None:
    policy = AbstainPolicy(outage="mean")
    assert policy.rewards([RIGHT, OURS, WRONG, RIGHT], ["a", "a", "a", "b"]) == [1.0, 0.5, 0.0, 1.0]


def test_a_group_without_any_verdict_has_no_mean() -> None:
    with pytest.raises(Ungraded, match="service_unavailable 2"):
        AbstainPolicy(outage="mean").rewards([OURS, OURS, RIGHT], ["a", "a", "b"])


@pytest.mark.parametrize(
    ("policy", "grade"), [(AbstainPolicy(row="raise"), ROW), (AbstainPolicy(outage="raise"), OURS)]
)
def test_the_raised_error_gives_count_and_reasons(policy: AbstainPolicy, grade: Grade) -> None:
    with pytest.raises(Ungraded, match="1 of 2 completions have no verdict"):
        policy.rewards([RIGHT, grade])


def test_zero_only_by_explicit_option() -> None:
    assert AbstainPolicy(row="zero", outage="zero").rewards([ROW, OURS]) == [0.0, 0.0]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        AbstainPolicy(row="ignore")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError):
        AbstainPolicy(constant=float("nan"))


@given(GRADES)
def test_rates_have_fixed_names_and_finite_values(grades: list[Grade]) -> None:
    rates = Tally.of(grades).rates()
    assert set(rates) == {"graded", "row_faults", "outages"} and all(0 <= rate <= 1 for rate in rates.values())
