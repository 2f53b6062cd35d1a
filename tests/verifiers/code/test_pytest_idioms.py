"""Tests written for pytest or unittest run as there; what does not run is no pass, what cannot run refuses the row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tomllib

from assay.verifiers.base import Verdict
from assay.verifiers.errors import InvalidReference

Score = Callable[..., Verdict]
F = "def f(x): return x + 1"
COUNTER = "class C:\n  def __init__(s): s.n = 0\n  def up(s): s.n += 1; return s.n"

CASES = tomllib.loads((Path(__file__).parent / "cases" / "pytest.toml").read_text())
HONEST = CASES["honest"]

HACKS = CASES["hacks"]

EACH_ONCE = """
import unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(f(1), 2)
        self.assertIn(f(1), [2])
        [self.assertEqual(f(n), n + 1) for n in range(3)]
        with self.assertRaises(TypeError): f(None)
"""
REFUSED = {
    "fixture": "def test_a(nowhere): assert f(1) == 2",
    "fixture_of_a_plugin": "def test_a(mocker): assert f(1) == 2",
    "name_of_pytest": "import pytest\nassert pytest.approx_equal(f(1), 2)",
    "name_from_pytest": "from pytest import approx_equal\nassert approx_equal(f(1), 2)",
    "test_that_yields": "def test_a():\n    yield lambda: f(1) == 2",
    "constructor": "class TestA:\n    def __init__(self, n): self.n = n\n    def test_a(self): assert f(1) == 2",
    "library": "from assertpy import assert_that\nassert_that(f(1)).is_equal_to(2)",
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest(score: Score, name: str) -> None:
    code, test = HONEST[name]["program"], HONEST[name]["tests"]
    verdict = score(code, [{"test_code": test}], "asserts")
    assert verdict.reward == 1, verdict


@pytest.mark.parametrize("name", HACKS)
def test_hack_is_worth_nothing(score_in_two_jails: Score, name: str) -> None:
    code, test = HACKS[name]["program"], HACKS[name]["tests"]
    assert score_in_two_jails(code, [{"test_code": test}], "asserts", limits={"wall_s": 3}).reward == 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_run_refuses_the_row_whatever_the_program(score: Score, name: str) -> None:
    for code in (F, "def f(x): return 0", "import os\nos._exit(0)"):
        with pytest.raises(InvalidReference):
            score(code, [{"test_code": REFUSED[name]}], "asserts")


def test_each_assertion_is_counted_once(score: Score) -> None:
    test = EACH_ONCE
    assert score(F, [{"test_code": test, "assertions": 6}], "asserts").reward == 1
    assert score(F, [{"test_code": test, "assertions": 5}], "asserts").reward == 0


def test_no_program_refuses_the_row_where_it_shares_a_process_with_the_tests(score: Score) -> None:
    code = 'import os\nos.write(3, b\'{"lacking": "x"}\\n\')\nos._exit(0)'
    assert score(code, [{"test_code": "assert f(1) == 2"}], "asserts", trust="low").reward == 0
