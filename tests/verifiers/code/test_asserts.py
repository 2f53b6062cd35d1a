"""Mode asserts: honest programs pass in two jails, and no program passes by acting on the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tomllib

from assay.verifiers.base import Verdict
from assay.verifiers.errors import InvalidReference

Score = Callable[..., Verdict]

CASES = tomllib.loads((Path(__file__).parent / "cases" / "asserts.toml").read_text())
HONEST = CASES["honest"]

HACKS = CASES["hacks"]


@pytest.mark.parametrize("name", HONEST)
def test_honest(score: Score, name: str) -> None:
    code, test = HONEST[name]["program"], HONEST[name]["tests"]
    verdict = score(code, [{"test_code": test}], "asserts")
    assert verdict.reward == 1, verdict


@pytest.mark.parametrize("name", HACKS)
def test_hack_is_worth_nothing(score_in_two_jails: Score, name: str) -> None:
    code, test = HACKS[name]["program"], HACKS[name]["tests"]
    limits = {"wall_s": 3}
    assert score_in_two_jails(code, [{"test_code": test}], "asserts", limits=limits).reward == 0


def test_low_trust_is_marked_and_the_rows_alone(score: Score) -> None:
    test = "import pickle\nassert pickle.loads(pickle.dumps(f)) is f"
    strict = score("def f(x): return x", [{"test_code": test}], "asserts")
    low = score("def f(x): return x", [{"test_code": test}], "asserts", trust="low")
    assert "trust:low" in low.flags and "trust:low" not in strict.flags


def test_a_pass_needs_as_many_assertions_as_the_gold_run(score: Score) -> None:
    code, test = "def f(): return [1, 2]", "for x in f():\n    assert x > 0"
    assert score(code, [{"test_code": test, "assertions": 2}], "asserts").reward == 1
    assert score("def f(): return [1]", [{"test_code": test, "assertions": 2}], "asserts").reward == 0


def test_tests_that_assert_nothing_do_not_pass(score: Score) -> None:
    for test in ("f()", "def test_f():\n    f()", "import unittest\nclass T(unittest.TestCase): pass"):
        assert score("def f(): return 1", [{"test_code": test}], "asserts").reward == 0


def test_test_code_that_does_not_compile_refuses_the_row(score: Score) -> None:
    with pytest.raises(InvalidReference):
        score("def f(): return 1", [{"test_code": "assert f( == 1"}], "asserts")


def test_a_package_that_the_environment_lacks_refuses_the_row(score: Score) -> None:
    with pytest.raises(InvalidReference, match="numpy"):
        score("def f(): return 1", [{"test_code": "import numpy as np\nassert np.all(f() == 1)"}], "asserts")


def test_a_hang_of_the_program_is_its_time_out(score: Score) -> None:
    verdict = score("def f():\n  while True: pass", [{"test_code": "assert f()"}], "asserts", limits={"wall_s": 1})
    assert (verdict.reward, verdict.reason) == (0, "timeout")


def test_units_are_scored_one_by_one(score: Score) -> None:
    tests = [{"test_code": f"assert f({n}) == {n}"} for n in range(4)]
    assert score("def f(x): return x if x < 3 else 0", tests, "asserts", scoring="fraction").reward == 0.75
