"""`exact` with the row's own extraction: a linear-time pattern with one group, or a tag."""

import time

import pytest

from assay.verifiers.errors import InvalidReference

from .._scoring import verdict

PATTERN = {"mode": "string", "gold": "Paris", "extract": "pattern", "pattern": r"(?i)capital:\s*([^\n.]+)"}
TAG = {"mode": "number", "gold": "42", "extract": "tag", "tag": "final"}


@pytest.mark.parametrize(
    ("text", "reward", "reason"),
    [
        ("The capital: Paris.", 1, "equal"),
        ("Capital: Rome\nno: CAPITAL:  Paris ", 1, "equal"),
        ("Capital: Paris\ncapital: Rome", 0, "unequal"),
        ("Paris", 0, "no_answer"),
        ("Größe: ünï — capital: Paris", 1, "equal"),
        ("<think>capital: Rome</think>capital: Paris", 1, "equal"),
    ],
)
def test_the_group_of_the_last_match_is_the_answer(text: str, reward: float, reason: str) -> None:
    got = verdict("exact", text, PATTERN)
    assert (got.reward, got.reason) == (reward, reason)
    if got.span:
        assert text[got.span[0] : got.span[1]] == got.extracted


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        ("<final>42</final>", 1),
        ("<final>41</final> no, <final> 42 </final>", 1),
        ("<final>42</final><final>", 0),
        ("<Final>42</Final>", 0),
        ("42", 0),
    ],
)
def test_the_last_closed_tag_is_the_answer(text: str, reward: float) -> None:
    assert verdict("exact", text, TAG).reward == reward


@pytest.mark.parametrize("row", [PATTERN, TAG])
def test_several_different_answers_are_hedged_if_the_row_says_so(row: dict[str, str]) -> None:
    one, other = (
        ("capital: Paris\n", "capital: Rome\n") if "pattern" in row else ("<final>42</final>", "<final>1</final>")
    )
    assert verdict("exact", other + one, {**row, "multiple": "reject"}).reason == "hedged"
    assert verdict("exact", other + one, row).flags == (() if "pattern" in row else ("multiple_answers",))
    assert verdict("exact", one + one, {**row, "multiple": "reject"}).reward == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"pattern": "(a"}, "pattern"),
        ({"pattern": "a"}, "pattern"),
        ({"pattern": "(a)(b)"}, "pattern"),
        ({"pattern": r"(a)(?=b)"}, "pattern"),
        ({"pattern": r"(a)\1"}, "pattern"),
        ({"pattern": None}, "pattern"),
        ({"extract": "whole"}, "pattern"),
        ({"extract": "tag"}, "pattern"),
        ({"tag": "x"}, "tag"),
    ],
)
def test_a_pattern_that_cannot_extract_refuses_the_row(fields: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidReference) as refused:
        verdict("exact", "x", {**PATTERN, **fields})
    assert refused.value.field == field


def test_a_hostile_pattern_takes_linear_time() -> None:
    row = {**PATTERN, "pattern": r"((?:a+)+)$"}
    started = time.process_time()
    assert verdict("exact", "a" * 200_000 + "!", row).reason == "no_answer"
    assert time.process_time() - started < 2
