"""The shared rows: hard cases, real completions, published answers."""

from __future__ import annotations

import time

from tests.verifiers.math.runner import VERIFIER, as_expected, auto, boxed, reward, rows, wrong


def test_every_hard_case_is_right() -> None:
    assert list(wrong(rows("cases/math.jsonl"))) == []


def test_every_real_completion_is_right() -> None:
    assert list(wrong(rows("data/math_cot.jsonl"))) == []


def test_prose_of_real_models_is_read_from_its_last_sentence() -> None:
    solutions = rows("data/gsm8k_solutions.jsonl")  # "A: 26", dollars, calculator notes; labelled
    golds = [str(row["reference"]["gold"]).rpartition("####")[2].strip() for row in solutions]
    pairs = [
        (row["expected"] == 1.0, auto(gold, row["completion"])) for gold, row in zip(golds, solutions, strict=True)
    ]
    assert (False, True) not in pairs
    assert pairs.count((True, False)) == 0


def test_boxed_last_gives_the_same_verdict_wherever_there_is_a_complete_box() -> None:
    cases = [row for row in rows("cases/math.jsonl") if "\\boxed{" in row["completion"] and row["expected"]]
    assert list(wrong(cases, extract="boxed_last")) == ["m523"]  # an empty box, and the answer in prose


def test_lenient_differs_from_strict_where_a_decimal_is_rounded_and_nowhere_else() -> None:
    cases = rows("cases/math.jsonl")
    differ = [row["id"] for row in cases if reward(row) != reward(row, profile="lenient")]
    assert differ == ["m373"]  # 0.27 for 0.272727...


def test_robust_rows_stay_within_the_budget_and_cost_their_neighbours_nothing() -> None:
    robust = [row for row in rows("cases/math.jsonl") if row["kind"] == "robust"]
    for row in robust:
        started = time.process_time()
        assert as_expected(row["expected"], reward(row)), row["id"]
        assert time.process_time() - started < 10 * VERIFIER.budget.verify_cpu_s
        assert boxed("42", "42") and not boxed("42", "43")


def test_every_published_answer_accepts_itself() -> None:
    golds = [row["answer"] for row in rows("data/math_golds.jsonl")]
    assert [gold for gold in golds if not boxed(gold, gold)] == []
