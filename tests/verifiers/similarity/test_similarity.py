"""`similarity`: each metric against its published definition, what it is not fooled by, and rows that it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.errors import InvalidReference
from assay.verifiers.similarity.metrics import METRICS, words

from .._scoring import calm, verdict

METRIC_NAMES = sorted(METRICS)
GOLD = "The cat sat on the mat."


def reward(text: str, gold: str | list[str] = GOLD, **fields: object) -> float:
    return verdict("similarity", text, {"metric": "token_f1", "gold": gold, **fields}).reward


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_the_gold_itself_is_1_and_another_text_is_near_0(metric: str) -> None:
    assert reward(GOLD, metric=metric) == pytest.approx(1, abs=1e-9)
    assert reward("Quarks hum.", metric=metric) < 0.15
    assert 0.2 < reward("The cat sat on a rug.", metric=metric) < 1


@pytest.mark.parametrize(
    ("metric", "text", "value"),
    [
        ("token_f1", "the mat", 2 * 2 / (2 + 6)),
        ("rouge_l", "the cat on mat", 2 * 4 / (4 + 6)),
        ("rouge_l", "mat the on sat cat the", 2 * 3 / (6 + 6)),
        ("wer", "the cat sat on mat", 1 - 1 / 6),
        ("wer", "a " * 50, 0),
        ("bleu", "the cat sat on a mat", 0.5373),
        ("chrf", "the cat sat on a mat", 0.6598),
    ],
)
def test_a_metric_has_its_published_value(metric: str, text: str, value: float) -> None:
    gold = GOLD if metric in ("token_f1", "rouge_l", "wer") else "the cat sat on the mat"
    assert reward(text, gold, metric=metric) == pytest.approx(value, abs=1e-4)


def test_the_closest_of_several_golds_counts() -> None:
    assert reward("a dog", ["the cat", "a dog"]) == 1


@pytest.mark.parametrize(("threshold", "expected"), [(0.5, 1.0), (0.501, 0.0)])
def test_a_threshold_makes_it_1_or_0(threshold: float, expected: float) -> None:
    assert reward("the mat", threshold=threshold) == expected


def test_numbers_keep_their_sign_and_point() -> None:
    assert words("It is -5, not 1.5 or 1,500.") == ["it", "is", "-5", "not", "1.5", "or", "1,500"]
    assert reward("5", "-5") == 0 == reward("15", "1.5")


def test_an_extraction_rule_applies() -> None:
    assert reward("So: <answer>the cat</answer>", "the cat", extract="answer_tag") == 1
    assert verdict("similarity", "the cat", {"metric": "wer", "gold": "x", "extract": "boxed"}).reason == "no_answer"
    assert verdict("similarity", "<think>the cat", {"metric": "wer", "gold": "the cat"}).reason == "no_answer"


@pytest.mark.parametrize("metric", METRIC_NAMES)
@pytest.mark.parametrize("gold", ["", " \n", [], ["the cat", ""]])
def test_a_gold_without_content_refuses_the_row(metric: str, gold: str | list[str]) -> None:
    with pytest.raises(InvalidReference):
        reward("x", gold, metric=metric)


@pytest.mark.parametrize("metric", ["token_f1", "rouge_l", "wer"])
def test_a_gold_of_punctuation_refuses_the_row(metric: str) -> None:
    with pytest.raises(InvalidReference):
        reward("?", "…", metric=metric)


@pytest.mark.parametrize("metric", METRIC_NAMES)
@calm
@given(answer=st.text(max_size=60), gold=st.sampled_from([GOLD, "ja nein", "x"]))
def test_a_similarity_is_in_0_to_1(metric: str, answer: str, gold: str) -> None:
    assert 0 <= METRICS[metric](answer, gold) <= 1


def test_repeating_the_gold_does_not_pay() -> None:
    for metric in METRIC_NAMES:
        assert reward(" ".join([GOLD] * 20), metric=metric) < 0.6
