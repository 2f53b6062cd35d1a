"""Mode stdio: each test is a run of its own; its output is compared outside the jail.

A Python program that has many tests is compiled by its first run, which leaves the code object on a
pipe before anything of the program executes; later runs load it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from assay.contract.references.code import StdioTest
from assay.sandbox import RunResult, RunSpec, program
from assay.verifiers.code import checkers, shared
from assay.verifiers.code.compare import output_rule
from assay.verifiers.code.outcome import TestOutcome
from assay.verifiers.code.runs import Candidacy, outcome_of, until_failure

_CODE_FD = 3


def run(candidacy: Candidacy) -> list[TestOutcome]:
    """The outcomes of the tests in order, fewer after an early stop."""
    reference = candidacy.spec.reference
    runner = Runner(candidacy)
    tests = _tests(runner)
    if reference.isolation == "shared" and shared.possible(candidacy):
        together, runner.code = shared.stdio(candidacy)
        if together is not None and tests[shared.chosen(candidacy)]().passed:
            return together
    if reference.checker is not None or reference.interactor is not None:
        checkers.require_healthy(candidacy)
    return list(until_failure(tests, stop_early=reference.scoring == "all"))


def _tests(runner: Runner) -> list[Callable[[], TestOutcome]]:
    tests = runner.candidacy.spec.reference.tests
    return [partial(runner.test, test) for test in tests if isinstance(test, StdioTest)]


@dataclass
class Runner:
    """Runs one program on one test after another, compiling a Python program once."""

    candidacy: Candidacy
    code: bytes = b""

    def test(self, test: StdioTest) -> TestOutcome:
        """Run one test and return its outcome."""
        reference = self.candidacy.spec.reference
        if reference.interactor is not None:
            return checkers.interact(self.candidacy, reference.interactor, test, self.spec(test))
        result = self.run(test)
        if reference.checker is not None:
            if not result.ok:
                return outcome_of(result, lambda: False)
            return checkers.check(self.candidacy, reference.checker, test, result)
        rule = output_rule(self.candidacy.spec.compare)
        expected = (test.expected_stdout or "").encode("utf-8", "surrogatepass")
        return outcome_of(result, lambda: rule(result.stdout, expected))

    def run(self, test: StdioTest) -> RunResult:
        """Run the program on a test's input."""
        spec = self.spec(test)
        if spec.action != "script" or len(self.candidacy.spec.reference.tests) == 1:
            return self.candidacy.slot.run(spec)
        if self.code:
            return self.candidacy.slot.run(_with_code(spec, self.code))
        result = self.candidacy.slot.run(replace(spec, head={**spec.head, "code_fd": _CODE_FD}, outputs=1))
        self.code = result.outputs[0] if result.outputs else b""
        return result

    def spec(self, test: StdioTest) -> RunSpec:
        """The run of the program on a test's input."""
        reference = self.candidacy.spec.reference
        return program(
            self.candidacy.compiled,
            stdin=test.stdin.encode("utf-8", "surrogatepass"),
            limits=self.candidacy.limits,
            environment=reference.env,
            owner=self.candidacy.owner,
        )


def _with_code(spec: RunSpec, code: bytes) -> RunSpec:
    return replace(spec, head={**spec.head, "code": len(spec.blobs)}, blobs=[*spec.blobs, code])
