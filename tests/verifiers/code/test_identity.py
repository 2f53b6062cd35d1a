"""Containers keep their identity between tests and program: the outcome is what Python gives in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomllib

from assay.verifiers.base import Verdict

Score = Callable[..., Verdict]
CASES: dict[str, Any] = tomllib.loads((Path(__file__).parent / "cases" / "identity.toml").read_text())
PLAIN = {outcome: {name: case for name, case in table.items() if "env" not in case} for outcome, table in CASES.items()}


@pytest.mark.parametrize("name", PLAIN["honest"])
def test_a_right_program_passes(score: Score, name: str) -> None:
    case = PLAIN["honest"][name]
    assert score(case["program"], [{"test_code": case["tests"]}], "asserts", limits={"wall_s": 50}).reward == 1


@pytest.mark.parametrize("name", PLAIN["wrong"])
def test_a_program_that_shares_what_it_must_copy_fails(score_in_two_jails: Score, name: str) -> None:
    case = PLAIN["wrong"][name]
    assert score_in_two_jails(case["program"], [{"test_code": case["tests"]}], "asserts").reward == 0


@pytest.mark.parametrize("name", PLAIN["hacks"])
def test_a_program_that_acts_on_the_tests_fails(score_in_two_jails: Score, name: str) -> None:
    case = PLAIN["hacks"][name]
    assert (
        score_in_two_jails(case["program"], [{"test_code": case["tests"]}], "asserts", limits={"wall_s": 3}).reward == 0
    )


@pytest.mark.parametrize("name", PLAIN["untransferable"])
def test_what_cannot_cross_fails_and_says_so(score_in_two_jails: Score, name: str) -> None:
    case = PLAIN["untransferable"][name]
    verdict = score_in_two_jails(case["program"], [{"test_code": case["tests"]}], "asserts")
    assert (verdict.reward, verdict.reason) == (0, "not_transferable")


RELAY_DIFFERS = """
import builtins
def marked(): return hasattr(builtins, "MARK")
"""


def test_a_pass_that_is_none_in_one_process_is_unconfirmed(score: Score, score_in_two_jails: Score) -> None:
    tests = [{"test_code": "import builtins\nbuiltins.MARK = 1\nassert not marked()"}]
    assert score_in_two_jails(RELAY_DIFFERS, tests, "asserts").reward == 1
    verdict = score(RELAY_DIFFERS, tests, "asserts")
    assert (verdict.reward, verdict.reason) == (0, "unconfirmed")
