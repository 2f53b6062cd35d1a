"""`isolation: shared`: all tests in one process, for speed. It counts only if every test passes.

State carries over from test to test, so a failure may be false, and so may a pass (a program that counts its
runs): of a pass one test, never the first, is run alone, chosen by a digest of program and row. Whatever fails
throws everything away, and the caller runs each test alone.
"""

from __future__ import annotations

import hashlib

from assay.contract.references.code import StdioTest
from assay.sandbox import RunResult, RunSpec
from assay.verifiers.code import calls
from assay.verifiers.code.compare import output_rule
from assay.verifiers.code.outcome import PASSED, TestOutcome
from assay.verifiers.code.runs import ProgramRun


def possible(program_run: ProgramRun) -> bool:
    """Whether tests can share a process: Python, several tests, plain comparison."""
    reference = program_run.spec.reference
    plain = reference.checker is None and reference.interactor is None
    return reference.language == "python" and plain and len(reference.tests) > 1


CODE_FD = 4


def stdio(program_run: ProgramRun) -> tuple[list[TestOutcome] | None, bytes]:
    """All stdio tests in one process (None unless every one passes), and the program as it was compiled there."""
    tests = [test for test in program_run.spec.reference.tests if isinstance(test, StdioTest)]
    inputs = [test.stdin.encode("utf-8", "surrogatepass") for test in tests]
    run = program_run.slot.run(
        RunSpec(
            action="scripts",
            head={
                "name": "main.py",
                "source": 0,
                "files": [["main.py", 0o644, 0]],
                "inputs": len(inputs),
                "code_fd": CODE_FD,
            },
            blobs=[program_run.source, *inputs],
            limits=program_run.limits,
            outputs=2,
            output_bytes=int(program_run.limits.output_mb * len(tests) * (1 << 20)),
            environment=program_run.spec.reference.env,
            owner=program_run.owner,
        )
    )
    return _outcomes_of(program_run, tests, run), run.outputs[1] if run.ok else b""


def _outcomes_of(program_run: ProgramRun, tests: list[StdioTest], run: RunResult) -> list[TestOutcome] | None:
    printed = _frames(run.outputs[0], len(tests)) if run.ok else None
    if printed is None:
        return None
    rule = output_rule(program_run.spec.compare)
    cap = int(program_run.limits.output_mb * (1 << 20))
    for output, test in zip(printed, tests, strict=True):
        expected = (test.expected_stdout or "").encode("utf-8", "surrogatepass")
        if len(output) > cap or not rule(output, expected):
            return None
    return [TestOutcome(status=PASSED, run=run, flags=("shared",)) for _ in tests]


def _frames(data: bytes, count: int) -> list[bytes] | None:
    """Split `count` outputs, each behind its length in 8 bytes; None if that is not what came."""
    frames, at = [], 0
    for _ in range(count):
        size = int.from_bytes(data[at : at + 8], "big")
        at += 8
        if at + size > len(data):
            return None
        frames.append(data[at : at + size])
        at += size
    return frames if at == len(data) else None


def function_outcomes(program_run: ProgramRun) -> list[TestOutcome] | None:
    """All calls in one process; None unless every one passes."""
    count = len(program_run.spec.reference.tests)
    run = program_run.slot.run(calls.calls_spec(program_run, list(range(count))))
    answers = calls.answers_of(run.outputs[0], count) if run.ok else None
    if answers is None:
        return None
    outcomes = [calls.answer_outcome(program_run, index, run, answer) for index, answer in enumerate(answers)]
    return outcomes if all(outcome.passed for outcome in outcomes) else None


def chosen(program_run: ProgramRun) -> int:
    """The test that is run alone after all have passed together: any but the first."""
    row = program_run.spec.reference.model_dump_json().encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(program_run.source + b"\0" + row).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (len(program_run.spec.reference.tests) - 1)
