"""Parsing in the compat protocols: the end of a prompt, special tokens, the output of a Responses object."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.client.sequences import SPECIAL_TOKENS, overlap, response_of, without_end
from assay.service.compat.nemo_gym import aggregated, completion_of

KEYS = st.sampled_from(["type", "content", "text", "role", "arguments", "call_id", "output"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner),
    max_leaves=10,
)
TEXT = st.text(alphabet="ab<\n", max_size=12)


def naive_overlap(left: str, right: str) -> int:
    return max(n for n in range(min(len(left), len(right)) + 1) if left.endswith(right[:n]) or n == 0)


@given(TEXT, TEXT)
def test_the_overlap_is_the_longest(left: str, right: str) -> None:
    assert overlap(left, right) == naive_overlap(left, right)


@given(st.text(), st.text())
def test_the_response_is_the_text_after_the_prompt(prompt: str, response: str) -> None:
    assert response_of(prompt + response, prompt) == response


def test_a_token_before_the_prompt_and_a_cut_start_are_accepted() -> None:
    assert response_of("<s>What is 2+2? It is 4", "What is 2+2?") == " It is 4"
    assert response_of("\ufffdhat is 2+2? It is 4", "What is 2+2?") == " It is 4"


def test_a_query_without_its_prompt_is_refused() -> None:
    with pytest.raises(ValueError):
        response_of("completely different: 4", "What is 2+2? The answer is 4.")


def test_a_very_long_prompt_that_does_not_fit_is_refused_at_once() -> None:
    started = time.monotonic()
    with pytest.raises(ValueError, match="does not start with the prompt"):
        response_of("a" * 20_000_000, "b" + "a" * 20_000_000)
    assert time.monotonic() - started < 3


def test_a_long_query_takes_linear_time() -> None:
    prompt = "ab" * 500_000 + "c"
    assert response_of(prompt[1:] + "4", prompt) == "4"


@pytest.mark.parametrize(
    ("text", "kept"),
    [("4<|im_end|>", "4"), ("4 <|im_end|>\n<|endoftext|><pad><pad>", "4 "), ("4\n", "4\n"), ("a</s>b", "a</s>b")],
)
def test_special_tokens_at_the_end_are_removed(text: str, kept: str) -> None:
    assert without_end(text, SPECIAL_TOKENS) == kept


@given(st.lists(JSON, max_size=4))
def test_every_model_output_can_be_read(output: list[Any]) -> None:
    messages = completion_of({"output": output})
    assert messages and all(isinstance(message["role"], str) for message in messages)


def test_there_is_no_mean_without_measurements() -> None:
    assert aggregated({"verify_responses": []})["key_metrics"] == {}
