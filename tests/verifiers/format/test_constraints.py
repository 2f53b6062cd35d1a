"""Every kind of constraint, met and not met; IFEval's twenty-five by their public names."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers import InvalidItem
from assay.verifiers.format.kinds import TEXT_CHECKS

from .._scoring import calm, refused, verdict
from ._instructions import RULES


def value(text: str, region: str = "whole", aggregate: str = "sum", /, **rule: Any) -> float:
    reference = {"constraints": [rule], "aggregate": aggregate, "region": region}
    return verdict("format", text, reference).reward


MORE = {"rel": ">=", "n": 2}
EXACTLY = {"rel": "==", "n": 2}
CASES: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("keywords:existence", {"type": "keywords", "all": ["Art", "c++"]}, ["ART in C++."], ["art", "C++ smart", ""]),
    ("keywords:existence, any", {"type": "keywords", "any": ["a", "b"]}, ["x b"], ["ab"]),
    ("keywords:existence, literal", {"type": "keywords", "all": [".*"], "match": "literal"}, ["x.*y"], ["xy"]),
    ("keywords:frequency", {"type": "keyword_count", "word": "red", **MORE}, ["red Red"], ["red redder", "red"]),
    ("keywords:forbidden_words", {"type": "forbidden", "any": ["bad"]}, ["badly"], ["so BAD!", " "]),
    ("keywords:letter_frequency", {"type": "char_count", "char": "e", **EXACTLY}, ["Eve"], ["eve e"]),
    (
        "language:response_language",
        {"type": "language", "code": "de"},
        ["ja", "Das ist nicht der Text, den wir haben wollten."],
        ["", "123"],
    ),
    (
        "length:number_sentences",
        {"type": "sentence_count", **EXACTLY},
        ["One. Two!", "一。二。", "It costs 3.50. Ok?"],
        ["One", "A. B. C."],
    ),
    (
        "length:number_paragraphs",
        {"type": "paragraph_count", "separator": "***", **EXACTLY},
        ["a\n***\nb"],
        ["a", "a\n***\n"],
    ),
    ("length:number_paragraphs, blank lines", {"type": "paragraph_count", **EXACTLY}, ["a\n \nb"], ["a\nb"]),
    ("length:number_words", {"type": "word_count", "rel": "<", "n": 3}, ["a b"], ["a b c", ""]),
    (
        "length:nth_paragraph_first_word",
        {"type": "nth_paragraph_first_word", "paragraphs": 2, "n": 2, "word": "now"},
        ["a\n\n**Now**, b", "a\n\n\n\nnow"],
        ["a\n\nnowhere", "now\n\na", "a\n\nnow\n\nb"],
    ),
    ("content:number_placeholders", {"type": "placeholders", **MORE}, ["[a] [b c]"], ["[a] []", "[a"]),
    ("content:postscript", {"type": "postscript", "marker": "P.S."}, ["x\n p.s. y"], ["x P.S. y"]),
    ("format:number_bullet_lists", {"type": "bullets", "n": 2}, ["* a\n- b"], ["* a", "**a**\n- b"]),
    (
        "format:constrained_response",
        {"type": "one_of", "options": ["My answer is yes."]},
        [" my answer is yes. "],
        ["yes"],
    ),
    (
        "format:number_highlighted_sections",
        {"type": "highlights", **MORE},
        ["*a* and **b c**"],
        ["* a *", "*a*", "** **"],
    ),
    (
        "format:multiple_sections",
        {"type": "sections", "marker": "Section", **EXACTLY},
        ["## Section 1\nx\nSECTION 2"],
        ["Section X"],
    ),
    ("format:json_format", {"type": "json"}, ['{"a": 1}', "```json\n[1]\n```"], ["{'a': 1}", "NaN"]),
    ("format:title", {"type": "title"}, ["<<A b>>\nx"], ["<<\nA>>", "<<>>", "<< >"]),
    ("combination:two_responses", {"type": "two_responses"}, ["a\n******\nb"], ["a******a", "a", "a******"]),
    ("combination:repeat_prompt", {"type": "repeat_prompt", "prompt": "Say it."}, ["say it. Ok"], ["Ok. Say it."]),
    ("startend:end_checker", {"type": "ends_with", "text": "Bye!"}, ["Well, bye! ", '"x bye!"'], ["Bye! x"]),
    ("startend:quotation", {"type": "quoted"}, [' "a" '], ['"', '"a', "a"]),
    ("change_case:capital_word_frequency", {"type": "capital_words", **EXACTLY}, ["AB c D."], ["AB cd"]),
    ("change_case:english_capital", {"type": "all_caps"}, ["ÉTÉ 1!"], ["ABc", "漢字", "1"]),
    ("change_case:english_lowercase", {"type": "all_lower"}, ["été 1!"], ["aB", "漢字", "ǅ"]),
    ("punctuation:no_comma", {"type": "no_comma"}, ["a b"], ["a, b", "a，b"]),
    ("starts_with", {"type": "starts_with", "text": "Dear"}, ["dear x"], ["x dear"]),
    ("copy_span", {"type": "copy_span", "text": "a b c d", "start": 1, "end": 2}, ["b  C"], ["a b", "b c d"]),
    ("all_punctuation", {"type": "all_punctuation"}, ["a, b; c: d? e! f?! g."], ["a, b; c: d? e! f.", "a, b; c: d?!"]),
    ("alphabet_words", {"type": "alphabet_words"}, ["Yes, zebras always bite."], ["a c", "a b 1"]),
    ("alliteration_increment", {"type": "alliteration_increment"}, ["A b. C c d. E e e."], ["A a. B b."]),
    ("consonant_clusters", {"type": "consonant_clusters"}, ["strong bells"], ["strong tea"]),
    ("emoji_endings", {"type": "emoji_endings"}, ["Good 🎉\nFine ❤️"], ["Good 🎉\nFine."]),
    ("last_first", {"type": "last_first"}, ["I see you. You see all."], ["I see. You see."]),
    ("no_repeated_initial", {"type": "no_repeated_initial"}, ["a big cat"], ["a cat came"]),
    ("no_whitespace", {"type": "no_whitespace"}, ["word"], ["a b"]),
    ("one_word_per_line", {"type": "one_word_per_line"}, ["a\nb"], ["a b\nc", "a\n\nb"]),
    ("paragraph_last_first", {"type": "paragraph_last_first"}, ["We are we.\n\nA b a"], ["we are"]),
    ("prime_lengths", {"type": "prime_lengths"}, ["an ant, seven"], ["a ant", "four"]),
    ("stairs", {"type": "stairs"}, ["a\n b\n  c"], ["a\nb", " a\nb", "a"]),
    ("sub_bullets", {"type": "sub_bullets"}, ["* a\n  - b\n* c\n  - d"], ["* a\n* b\n  - c", "- a"]),
    ("title_case", {"type": "title_case"}, ['The "Big" Cat 9'], ["The big Cat", "9"]),
    ("unique_words", {"type": "unique_words", **EXACTLY}, ["a b A."], ["a b c"]),
    ("distinct_vowels", {"type": "distinct_vowels", "rel": "<=", "n": 1}, ["Banana"], ["Bananas are"]),
    ("conjunctions", {"type": "conjunctions", **MORE}, ["a and b, but c"], ["a and b and c"]),
    ("number_count", {"type": "number_count", **EXACTLY}, ["1,000 and 2.5"], ["x1 2"]),
    ("pronouns", {"type": "pronouns", **MORE}, ["I saw him."], ["I saw."]),
    ("word_range", {"type": "word_range", "min": 1, "max": 2}, ["a", "a b"], ["a b c"]),
    ("palindromes", {"type": "palindromes", "rel": ">=", "n": 1}, ["A level!"], ["a noon"]),
    ("word_repeats", {"type": "word_repeats", "max": 1}, ["a b"], ["a b A"]),
    ("word_at", {"type": "word_at", "word": "end", "n": -1}, ["the End."], ["end it", ""]),
    (
        "word_at in a sentence",
        {"type": "word_at", "word": "x", "n": 2, "sentence": 2},
        ["A b. C x."],
        ["A x. C d.", "A x."],
    ),
    ("sentence_keyword", {"type": "sentence_keyword", "n": 2, "word": "x"}, ["A. B x."], ["X. B."]),
    ("sentence_increment", {"type": "sentence_increment", "by": 1}, ["A. B c. D e f."], ["A. B c d.", "A."]),
    ("nested_brackets", {"type": "nested_brackets", "depth": 3}, ["a (b [c {d}])"], ["([)]{}", "((a))", "(((a)"]),
    ("nested_quotes", {"type": "nested_quotes", "depth": 3}, ['"a \'b "c" it\'s\' d"'], ['"a" "b"']),
    ("list_lines", {"type": "list_lines", "marker": "~", **EXACTLY}, ["~ a\n ~ b"], ["~ a"]),
    ("trigram_overlap", {"type": "trigram_overlap", "text": "a b c d", "percent": 50}, ["a b c x"], ["a b c d", "a b"]),
    ("stop_word_ratio", {"type": "stop_word_ratio", "max": 50}, ["the cat"], ["the of cat"]),
    (
        "sentence_types",
        {"type": "sentence_types", "statements": 2, "questions": 1},
        ["A. B. C?", "A. B. C! D?"],
        ["A. B?", "A. B. C! D."],
    ),
    ("reversed_text", {"type": "reversed_text", "text": "ab c", "unit": "char"}, ["c ba"], ["ab c"]),
    ("reversed_text, words", {"type": "reversed_text", "text": "ab c", "unit": "word"}, ["C ab"], ["c ba"]),
]


@pytest.mark.parametrize(("rule", "met", "unmet"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_kind(rule: dict[str, Any], met: list[str], unmet: list[str]) -> None:
    assert [value(text, **rule) for text in met] == [1] * len(met)
    assert [value(text, **rule) for text in unmet] == [0] * len(unmet)


EVERY = [rule for _, rule, _, _ in CASES] + RULES


def test_every_kind_has_a_case() -> None:
    assert set(TEXT_CHECKS) <= {rule["type"] for rule in EVERY}


@calm
@given(text=st.text(max_size=60), kind=st.sampled_from(EVERY))
def test_no_text_breaks_a_constraint(text: str, kind: dict[str, Any]) -> None:
    assert value(text, **kind) in (0, 1)


@calm
@given(count=st.integers(0, 9), n=st.integers(0, 9), rel=st.sampled_from(["<", "<=", "==", ">=", ">"]))
def test_relations_are_what_they_say(count: int, n: int, rel: str) -> None:
    text = "x " * count
    truth = {"<": count < n, "<=": count <= n, "==": count == n, ">=": count >= n, ">": count > n}[rel]
    assert value(text, type="word_count", rel=rel, n=n) == (truth and count > 0)


def test_regions() -> None:
    text = "<think>a, b</think>c d"
    rule = {"type": "no_comma"}
    assert [value(text, region, **rule) for region in ("whole", "answer", "think")] == [0, 1, 0]
    assert value("<think>never closed", "answer", **rule) == 0


def think(text: str, kind: str = "think_answer", prefill: str = "", **rule: Any) -> float:
    reference = {"constraints": [{"type": kind, **rule}], "aggregate": "all"}
    return verdict("format", text, reference, prefill=prefill).reward


def test_think_and_answer() -> None:
    good = "<think>a</think> <answer>b</answer>"
    assert think(good, strict=True) == think(f"Well. {good}") == 1
    assert think(f"Well. {good}", strict=True) == think(good.replace("</answer>", "")) == 0
    assert think(good.removeprefix("<think>"), think_prefilled=True, strict=True) == 1
    assert think(good.removeprefix("<think>"), prefill="<think>\n", strict=True) == 1
    assert think(good, think_prefilled=True) == 0


def test_think_alone() -> None:
    assert think("<think>a</think>b", "think") == think("a</think>b", "think", prefill="<think>") == 1
    for text in (
        "x<think>a</think>b",
        "<think>a</think> ",
        "<think>a</think>b</think>c",
        "b",
        "<think><think>a</think>b",
    ):
        assert think(text, "think") == 0, text


def test_thinking_that_the_server_split_off_counts() -> None:
    message = {"role": "assistant", "content": "b", "reasoning_content": "a"}
    assert verdict("format", [message], {"constraints": [{"type": "think"}], "aggregate": "all"}).reward == 1


def test_aggregates_and_scores() -> None:
    rules = [{"type": "no_comma"}, {"type": "all_caps"}]
    for aggregate, reward, score in (("all", 0.0, 0.0), ("mean", 0.5, 0.5), ("sum", 1.0, 0.5)):
        result = verdict("format", "abc", {"constraints": rules, "aggregate": aggregate})
        assert (result.reward, result.score) == (reward, score)


def overlong(tokens: int | None, **fields: Any) -> Any:
    rule = {"type": "soft_overlong", "max": 100, "cache": 20}
    return verdict("format", "x", {"constraints": [rule], "aggregate": "sum"}, completion_tokens=tokens, **fields)


def test_length_terms_count_tokens_and_are_no_correctness() -> None:
    assert [overlong(n).reward for n in (0, 80, 90, 100, 10_000)] == [0, 0, -0.5, -1, -1]
    assert overlong(None, completion_ids=[1] * 90).reward == -0.5
    assert overlong(90).score is None
    with pytest.raises(InvalidItem):
        overlong(None)


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "soft_overlong", "max": 10, "cache": 20},
        {"type": "rhyme"},
        {"type": "keywords"},
        {"type": "keywords", "all": []},
        {"type": "keywords", "all": ["a"], "any": ["b"]},
        {"type": "char_count", "char": "ab", "rel": "==", "n": 1},
        {"type": "char_count", "char": "", "rel": "==", "n": 1},
        {"type": "word_count", "rel": "~", "n": 1},
        {"type": "word_count", "n": 1},
        {"type": "nth_paragraph_first_word", "paragraphs": 1, "n": 2, "word": "a"},
        {"type": "copy_span", "text": "a b", "start": 0, "end": 2},
        {"type": "copy_span", "text": "a b", "start": 1, "end": 0},
        {"type": "language", "code": "xx"},
        {"type": "ends_with", "text": " "},
        {"type": "repetition", "ngram": 2, "max_penalty": 1.0},
        {"type": "cosine_length", "max": 5, "correct": [0, 1], "wrong": [0, 1], "correct_part": "a"},
        {"type": "no_comma", "strict": True},
        {"type": "word_at", "word": "a", "n": 0},
    ],
    ids=str,
)
def test_refuses(rule: dict[str, Any]) -> None:
    assert refused("format", {"constraints": [rule], "aggregate": "all"})


@pytest.mark.parametrize(
    "text", ["." * 200_000 + "x", "[" * 200_000, "*a " * 50_000, "<<" * 50_000, " " * 200_000 + "x"]
)
def test_every_kind_is_linear(text: str) -> None:
    start = time.process_time()
    for rule in EVERY:
        value(text, **rule)
    assert time.process_time() - start < 60
