"""Mode function: the program's function is called in the jail, its values are compared outside.

Each call is a run of its own; a program with several tests is compiled by its first run, which leaves
the code object on a pipe before anything of the program executes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from assay.sandbox import RunResult
from assay.verifiers.code import shared
from assay.verifiers.code.calls import answer_outcome, answers_of, calls_spec
from assay.verifiers.code.outcome import TestOutcome
from assay.verifiers.code.runs import ProgramRun, until_failure

_CODE_FD = 4


def run(program_run: ProgramRun) -> list[TestOutcome]:
    """The outcomes of the tests in order, fewer after an early stop."""
    reference = program_run.spec.reference
    if reference.isolation == "shared" and len(reference.tests) > 1:
        together = shared.function_outcomes(program_run)
        if together is not None and Caller(program_run).test(shared.chosen(program_run)).passed:
            return together
    caller = Caller(program_run)
    tests = [partial(caller.test, index) for index in range(len(reference.tests))]
    return list(until_failure(tests, stop_early=reference.scoring == "all"))


class Caller:
    """Calls one program's functions, each call in a run of its own; compiles the program once."""

    def __init__(self, program_run: ProgramRun) -> None:
        self._program_run = program_run
        self._code = b""

    def test(self, index: int) -> TestOutcome:
        """Run the test of that index and return its outcome."""
        result = self._run(index)
        answers = answers_of(result.outputs[0], 1) if result.outputs else None
        return answer_outcome(self._program_run, index, result, answers[0] if answers else None)

    def _run(self, index: int) -> RunResult:
        spec = calls_spec(self._program_run, [index])
        if len(self._program_run.spec.reference.tests) == 1:
            return self._program_run.slot.run(spec)
        if self._code:
            spec = replace(spec, head={**spec.head, "code": 1}, blobs=[*spec.blobs, self._code])
            return self._program_run.slot.run(spec)
        result = self._program_run.slot.run(replace(spec, head={**spec.head, "code_fd": _CODE_FD}, outputs=2))
        self._code = result.outputs[1] if result.outputs else b""
        return result
