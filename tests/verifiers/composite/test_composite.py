"""The algebra of rewards, and what leaves a composite without a verdict."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers import InvalidItem, NeedsSandbox, NoVerdict

from .._scoring import calm, refused, verdict


def given_part(name: str, score: float | None, weight: float = 1.0) -> dict[str, Any]:
    return {"name": name, "verifier": "given", "reference": {"score": score}, "weight": weight}


def combine(parts: list[dict[str, Any]], op: str = "sum", primary: str | None = None, **options: Any) -> Any:
    reference = {"parts": parts, "combine": {"op": op, **options}}
    return verdict("composite", "text", reference | ({"primary": primary} if primary else {}), completion_tokens=10)


REWARDS = st.lists(st.tuples(st.floats(-5, 5), st.floats(-3, 3)), min_size=1, max_size=5)


@calm
@given(REWARDS, st.randoms())
def test_a_sum_is_the_weighted_sum_in_any_order(pairs: list[tuple[float, float]], random: Any) -> None:
    parts = [given_part(str(i), score, weight) for i, (score, weight) in enumerate(pairs)]
    total = combine(parts).reward
    assert total == pytest.approx(sum(score * weight for score, weight in pairs), abs=1e-9)
    random.shuffle(parts)
    assert combine(parts).reward == total


@calm
@given(REWARDS)
def test_product_and_minimum_ignore_weights(pairs: list[tuple[float, float]]) -> None:
    parts = [given_part(str(i), score, weight) for i, (score, weight) in enumerate(pairs)]
    assert combine(parts, "min").reward == min(score for score, _ in pairs)
    assert combine([given_part("a", 0.5, 7), given_part("b", 0.5, 0)], "product").reward == 0.25


@pytest.mark.parametrize(
    ("form", "options", "reward"),
    [(1, {}, 3.0), (0, {}, 0.0), (0, {"else": -1.0}, -1.0), (0.5, {}, 0.0)],
)
def test_gates(form: float, options: dict[str, Any], reward: float) -> None:
    parts = [given_part("form", form), given_part("right", 1, 2.0)]
    assert combine(parts, "gate", gates=[{"part": "form", "min": 1, **options}]).reward == reward


def test_a_closed_gate_never_pays_more_than_an_open_one() -> None:
    parts = [given_part("form", 0), given_part("penalty", -2)]
    assert combine(parts, "gate", gates=[{"part": "form", "min": 1}]).reward == -2


def test_the_score_is_that_of_the_primary_part() -> None:
    parts = [given_part("overlong", -0.5), given_part("right", 1.0), given_part("form", 0.0)]
    assert combine(parts).score == 1.0
    assert combine(parts, primary="form").score == 0.0
    assert combine(parts, primary="overlong").score is None
    assert combine(parts[:1]).score is None


def test_all_parts_are_returned_always() -> None:
    parts = combine([given_part("a", 1, 0.0), given_part("b", 0)], "gate", gates=[{"part": "b", "min": 1}]).parts
    assert [(part.name, part.weight, part.reward, part.outcome) for part in parts] == [
        ("a", 0.0, 1.0, "correct"),
        ("b", 1.0, 0.0, "incorrect"),
    ]


def test_a_part_without_a_verdict_masks_the_whole() -> None:
    with pytest.raises(InvalidItem, match="part judge"):
        combine([given_part("right", 1), {"name": "judge", "verifier": "given", "reference": {"name": "judge"}}])
    with pytest.raises(NoVerdict):
        combine([given_part("right", 1), given_part("null", None, 0.0)])


def test_a_part_that_runs_programs_asks_for_a_lane_that_can() -> None:
    script = {"name": "s", "verifier": "script", "reference": {"language": "python", "source": "x"}}
    with pytest.raises(NeedsSandbox):
        combine([given_part("right", 1), script])


def length(correct_part: str, name: str = "length") -> dict[str, Any]:
    rule = {
        "type": "cosine_length",
        "max": 20,
        "correct": [0.5, 1.0],
        "wrong": [-1.0, -0.5],
        "correct_part": correct_part,
    }
    return {"name": name, "verifier": "format", "reference": {"constraints": [rule], "aggregate": "sum"}}


def test_a_length_term_sees_the_part_that_it_names_wherever_that_stands() -> None:
    for right, expected in ((1, 0.75), (0, -0.75)):
        assert combine([length("right"), given_part("right", right, 0.0)]).reward == pytest.approx(expected)


def nested(depth: int) -> dict[str, Any]:
    inner = {"parts": [given_part("a", 1)], "combine": {"op": "sum"}}
    for _ in range(depth - 1):
        inner = {"parts": [{"name": "n", "verifier": "composite", "reference": inner}], "combine": {"op": "sum"}}
    return inner


def test_depth_is_bounded() -> None:
    assert verdict("composite", "", nested(4)).reward == 1
    assert refused("composite", nested(5))


A = given_part("a", 1)


@pytest.mark.parametrize(
    "reference",
    [
        {"parts": [], "combine": {"op": "sum"}},
        {"parts": [A, A], "combine": {"op": "sum"}},
        {"parts": [A], "combine": {"op": "sum"}, "primary": "b"},
        {"parts": [A], "combine": {"op": "gate"}},
        {"parts": [A], "combine": {"op": "gate", "gates": [{"part": "b", "min": 1}]}},
        {"parts": [A], "combine": {"op": "sum", "gates": [{"part": "a", "min": 1}]}},
        {"parts": [A], "combine": {"op": "sum", "clip": [1, 0]}},
        {"parts": [A], "combine": {"op": "median"}},
        {"parts": [A], "combine": {"op": "sum", "on_error": "mask"}},
        {"parts": [{**A, "verifier": "nobody"}], "combine": {"op": "sum"}},
        {"parts": [{**A, "verifier": "given@7"}], "combine": {"op": "sum"}},
        {"parts": [{**A, "reference": {}}], "combine": {"op": "sum"}},
        {
            "parts": [{**A, "verifier": "format", "reference": {"constraints": [], "aggregate": "all"}}],
            "combine": {"op": "sum"},
        },
        {"parts": [A, length("b")], "combine": {"op": "sum"}},
        {"parts": [length("length")], "combine": {"op": "sum"}},
        {"parts": [length("y", "x"), length("x", "y")], "combine": {"op": "sum"}},
        {"combine": {"op": "sum"}},
        {"parts": [A]},
        {"parts": [given_part("a", 1e308, 1e308)], "combine": {"op": "sum"}},
        {"preset": "dapo", "parts": [A], "combine": {"op": "sum"}},
    ],
    ids=str,
)
def test_refuses_the_row(reference: dict[str, Any]) -> None:
    assert refused("composite", reference)
