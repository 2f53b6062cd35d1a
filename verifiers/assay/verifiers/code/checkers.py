"""Checkers and interactors: programs of the row that decide a test, each in a jail of its own.

A checker sees input, output and answer as files. Its result is trusted, its access to the host is not. It is run once
per row on the reference answers, before any candidate: one that crashes there refuses the row. A crash on the output
of a candidate counts as wrong output (flag `judge_crash`).
"""

from __future__ import annotations

import json
from dataclasses import replace

from assay.contract.references.code import CheckerProgram, StdioTest
from assay.sandbox import CompileFailed, Limits, RunResult, RunSpec, compile_program, program
from assay.sandbox.host.execution import pipe
from assay.sandbox.programs import failure_reason
from assay.verifiers.code.outcome import PASSED, TestOutcome
from assay.verifiers.code.runs import RowRun
from assay.verifiers.errors import InvalidReference

_CHECKER_LIMITS = Limits(wall_s=20.0, memory_mb=1024, disk_mb=256, file_mb=256, output_mb=16)
_RIGHT, _WRONG = {0}, {1, 2, 7}
_FILES = ("input.txt", "output.txt", "answer.txt")


def require_working(row_run: RowRun) -> None:
    """Try the row's checker or interactor, once per reference. Raises `InvalidReference` if it is of no use.

    Python ones must define their function. A checker must not crash on the reference answers. An empty expectation
    is no answer to try: where there is a checker, tests need none (contract, `checker`).
    """
    works, reference = row_run.spec.works, row_run.spec.reference
    if "checker" not in works:
        works["checker"] = _all_work(row_run)
    if not works["checker"]:
        field = "checker" if reference.checker is not None else "interactor"
        raise InvalidReference(f"the {field} lacks its function or fails on the reference answer", field=field)


def _all_work(row_run: RowRun) -> bool:
    reference = row_run.spec.reference
    for action, checker in (("check", reference.checker), ("interact", reference.interactor)):
        if checker is not None and checker.protocol == "python" and not _defines(row_run, action, checker):
            return False
    if reference.checker is None:
        return True
    tests = [test for test in reference.tests if isinstance(test, StdioTest)]
    return all(_healthy(row_run, reference.checker, test) for test in tests)


def _defines(row_run: RowRun, action: str, checker: CheckerProgram) -> bool:
    probe = replace(_python_checker(row_run, action, checker, []), head={"probe": True})
    return any(_word(checker, row_run.slot.run(probe)) is True for _ in range(2))


def _healthy(row_run: RowRun, checker: CheckerProgram, test: StdioTest) -> bool:
    answer = test.expected_stdout
    if not answer:
        return True
    run = _checker_run(row_run, checker, test, _bytes(answer))
    return any(_word(checker, row_run.slot.run(run)) is not None for _ in range(2))


def check(row_run: RowRun, checker: CheckerProgram, test: StdioTest, result: RunResult) -> TestOutcome:
    """The checker's word on what the program printed."""
    verdict = _word(checker, row_run.slot.run(_checker_run(row_run, checker, test, result.stdout)))
    if verdict is None:
        return TestOutcome(status="wrong_output", run=result, flags=("judge_crash",))
    return TestOutcome(status=PASSED if verdict else "wrong_output", run=result)


def interact(row_run: RowRun, interactor: CheckerProgram, test: StdioTest, spec: RunSpec) -> TestOutcome:
    """Let program and interactor talk; the interactor's word decides, then how the program ended."""
    to_program, to_interactor = pipe(), pipe()
    checker = _interactor_run(row_run, interactor, test)
    talk = [
        replace(spec, stdin=to_program[0], stdout=to_interactor[1]),
        replace(checker, stdin=to_interactor[0], stdout=to_program[1]),
    ]
    result, interactor_run = row_run.slot.run_together(talk, close_after_start=[*to_program, *to_interactor])
    verdict = _word(interactor, interactor_run)
    if result.ok and verdict is True:
        return TestOutcome(status=PASSED, run=result)
    if verdict is False:
        return TestOutcome(status="wrong_output", run=result)
    if result.ok:
        return TestOutcome(status="wrong_output", run=result, flags=("judge_crash",))
    return TestOutcome(status=failure_reason(result), run=result)


def _word(checker: CheckerProgram, run: RunResult) -> bool | None:
    """Return what the run of a checker says: right, wrong, or None where it crashed or overran."""
    if checker.protocol == "testlib":
        return True if run.exit_code in _RIGHT else False if run.exit_code in _WRONG else None
    try:
        word = json.loads(run.outputs[0]) if run.ok else None
    except ValueError:
        return None
    return word if isinstance(word, bool) else None


def _checker_run(row_run: RowRun, checker: CheckerProgram, test: StdioTest, output: bytes) -> RunSpec:
    files = [
        (_FILES[0], _bytes(test.stdin)),
        (_FILES[1], output),
        (_FILES[2], _bytes(test.expected_stdout or "")),
    ]
    if checker.protocol == "testlib":
        return _compiled_checker(row_run, checker, files, _FILES)
    return _python_checker(row_run, "check", checker, files)


def _interactor_run(row_run: RowRun, interactor: CheckerProgram, test: StdioTest) -> RunSpec:
    files = [(_FILES[0], _bytes(test.stdin)), (_FILES[2], _bytes(test.expected_stdout or ""))]
    if interactor.protocol == "testlib":
        return _compiled_checker(row_run, interactor, files, _FILES)
    return _python_checker(row_run, "interact", interactor, files)


def _compiled_checker(
    row_run: RowRun, checker: CheckerProgram, files: list[tuple[str, bytes]], argv: tuple[str, ...]
) -> RunSpec:
    try:
        compiled = compile_program(
            row_run.slot,
            row_run.slot.toolchain(checker.language),
            checker.source.encode(),
            owner=row_run.owner,
        )
    except CompileFailed as failure:
        raise InvalidReference("the checker does not compile", field="checker.source") from failure
    run = program(compiled, limits=_CHECKER_LIMITS, files=files, argv=argv, role="tests", owner=row_run.owner)
    return replace(run, head={**run.head, "ignore_sigpipe": True})  # it may write when the program has ended


def _python_checker(row_run: RowRun, action: str, checker: CheckerProgram, files: list[tuple[str, bytes]]) -> RunSpec:
    return RunSpec(
        action=action,
        head={},
        blobs=[checker.source.encode(), *(content for _, content in files)],
        limits=_CHECKER_LIMITS,
        outputs=1,
        role="tests",
        owner=row_run.owner,
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
