"""Calls of a program's functions: the run that makes them, and what its answers are worth.

The jail gets arguments and never the expectation. It answers lines `[index, answer]`; junk, silence,
a wrong index or an answer too many is a failed test.
"""

from __future__ import annotations

from typing import Any

from assay.contract.references.code import FunctionTest
from assay.sandbox import RunResult, RunSpec
from assay.sandbox.guest.values import codec
from assay.verifiers.code.compare import value_rule
from assay.verifiers.code.outcome import TestOutcome
from assay.verifiers.code.runs import ProgramRun, outcome_of

MAX_ANSWER_BYTES = 8 << 20
MAX_ANSWER_NODES = 2_500_000
"""Members of all containers of a run's answers: what the lane spends memory on."""


def calls_spec(program_run: ProgramRun, indices: list[int]) -> RunSpec:
    """The run that makes the calls of the tests of those indices."""
    tests = [program_run.spec.reference.tests[index] for index in indices]
    calls = [
        {
            "entry_point": test.entry_point,
            "args": test.args,
            "kwargs": test.kwargs or {},
            "check_args": test.check_args is not None,
        }
        for test in tests
        if isinstance(test, FunctionTest)
    ]
    head = {
        "name": "solution.py",
        "source": 0,
        "files": [["solution.py", 0o644, 0]],
        "calls": calls,
        "nodes": program_run.spec.typed,
    }
    return RunSpec(
        action="calls",
        head=head,
        blobs=[program_run.source],
        limits=program_run.limits,
        outputs=1,
        output_bytes=MAX_ANSWER_BYTES,
        environment=program_run.spec.reference.env,
        owner=program_run.owner,
    )


def answers_of(output: bytes, count: int) -> list[dict[str, Any]] | None:
    """The parsed answers, in order; None where the output is not exactly `count` lines of them."""
    lines = output.split(b"\n")
    if len(lines) != count + 1 or lines[-1]:
        return None
    answers = []
    if sum(map(output.count, (b",", b"[", b"{"))) > MAX_ANSWER_NODES:
        return None
    for index, line in enumerate(lines[:-1]):
        try:
            form = codec.parse(line)
        except codec.Malformed:
            return None
        if not (isinstance(form, list) and len(form) == 2 and form[0] == index and isinstance(form[1], dict)):
            return None
        answers.append(form[1])
    return answers


def answer_outcome(program_run: ProgramRun, index: int, run: RunResult, answer: dict[str, Any] | None) -> TestOutcome:
    """The outcome of one call whose run ended as `run` and answered `answer` (None: nothing usable)."""
    if answer is not None and "e" in answer:
        status = "wrong_output" if answer.get("at") == "value" else "runtime_error"
        return outcome_of(run, lambda: False, wrong=status)
    if answer is None:
        flags = ("early_exit",) if run.ok or run.exit_code is not None else ()
        status = outcome_of(run, lambda: False, wrong="no_result").status
        return TestOutcome(status=status, run=run, flags=flags)
    return outcome_of(run, lambda: _right(program_run, index, answer))


def _right(program_run: ProgramRun, index: int, answer: dict[str, Any]) -> bool:
    expected, expected_args = program_run.spec.expected[index]
    rule = value_rule(program_run.spec.compare)
    try:
        if not rule(codec.decode_unhashed(answer.get("v")), expected):
            return False
        return expected_args is None or rule(codec.decode_unhashed(answer.get("a")), expected_args)
    except (codec.Malformed, RecursionError, OverflowError):
        return False
