"""The `code` verifier: extract a program, run it in the sandbox on the row's tests, compare its output outside.

No expected value is in the program's process, files, arguments or environment, and nothing that the program emits is
taken as a verdict: it emits values, and this process compares them. In mode `asserts` the tests run in a jail of their
own. A program that fails, hangs or misbehaves gets a reward of 0; a sandbox that fails is `sandbox_unavailable`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import ClassVar

from assay.contract.references.code import CodeReference
from assay.sandbox import (
    CompileFailed,
    Limits,
    LimitTooHigh,
    SandboxError,
    Slot,
    check_limits,
    compile_program,
    slot,
)
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.code import asserts, extraction, flags, function, spec, stdio
from assay.verifiers.code.joining import joined
from assay.verifiers.code.outcome import TestOutcome, verdict_of
from assay.verifiers.code.rows import require_row
from assay.verifiers.code.runs import ProgramRun, RowRun
from assay.verifiers.code.spec import MAX_CODE_BYTES, Spec
from assay.verifiers.errors import InvalidItem, SandboxUnavailable

_MODES: dict[str, Callable[[ProgramRun], list[TestOutcome]]] = {
    "stdio": stdio.run,
    "function": function.run,
    "asserts": asserts.run,
}
_OPTION_OF_LIMIT = {"wall_s": "timeout_s", "cpu_s": "cpu_s"}
"""The item's option for each limit that it may set."""
_JUDGING_S = 25.0
_COMPILING_S = 90.0
_SHOWN_CHARS = 4096


class CodeVerifier(Verifier[CodeReference, Spec]):
    """Programs against tests, in the sandbox."""

    name: ClassVar[str] = "code"
    version: ClassVar[int] = 1
    reference_model = CodeReference
    reads: ClassVar[frozenset[str]] = frozenset({"completion", "prefill", "options"})
    budget: ClassVar[Budget] = Budget(prepare_cpu_s=5.0, verify_cpu_s=60.0)
    sandboxed: ClassVar[bool] = True

    def __init__(self, open_slot: Callable[[], Slot] = slot, *, confirm: bool = True) -> None:
        """`confirm=False` leaves out the confirmation run of `asserts`, to measure what it costs and changes."""
        self._open_slot = open_slot
        self._confirm = confirm

    def prepare(self, reference: CodeReference) -> Spec:
        """Check the reference. Raises `InvalidReference`."""
        return spec.prepare(reference)

    def wall_s(self, spec: Spec) -> float:
        """Return the wall seconds after which scoring counts as stuck.

        Each test may run twice, each time with its wall limit doubled for time without a CPU. A checker is also tried
        on the reference answer. In mode `asserts` the confirmation adds two runs, with the limits of both jails.
        """
        judging = _JUDGING_S if spec.reference.checker is None else 3 * _JUDGING_S
        per_test = 4 * spec.limits.wall_s + judging
        if spec.reference.mode == "asserts":
            per_test += 4 * (2 * spec.limits.wall_s + judging)
        return len(spec.reference.tests) * per_test + _COMPILING_S

    def verify(self, spec: Spec, candidate: Candidate) -> Verdict:
        """Run the candidate's program.

        Raises `SandboxUnavailable`, `UnsupportedLanguage`, `InvalidReference` and `InvalidItem`; never for its content.
        """
        limits = _limits(spec, candidate)
        try:
            where = self._open_slot()
            require_row(RowRun(spec=spec, slot=where, limits=limits, owner=candidate.owner))
        except SandboxError as error:
            raise SandboxUnavailable(str(error)) from error
        program = _extract(spec, candidate)
        if program is None:
            return Verdict(reward=0.0, score=0.0, reason="no_answer", message=candidate.message_index)
        source = joined(spec.reference.prefix, program.code, spec.reference.language).encode("utf-8", "replace")
        if len(source) > MAX_CODE_BYTES:
            return Verdict(reward=0.0, score=0.0, reason="resource_limit", message=candidate.message_index)
        try:
            return self._score(spec, candidate, program, source, limits, where)
        except SandboxError as error:
            raise SandboxUnavailable(str(error)) from error

    def _score(
        self,
        spec: Spec,
        candidate: Candidate,
        program: extraction.Program,
        source: bytes,
        limits: Limits,
        where: Slot,
    ) -> Verdict:
        reference, owner = spec.reference, candidate.owner
        total, marks = len(reference.tests), [*flags.of_text(program.code), *_trust_flags(spec)]
        if not where.isolated:
            marks.append("isolation:none")
        try:
            compiled = compile_program(where, where.toolchain(reference.language), source, owner=owner, limits=limits)
        except CompileFailed as failure:
            outcomes = [TestOutcome(status="compile_error", run=failure.result)]
        else:
            program_run = ProgramRun(
                spec=spec, slot=where, compiled=compiled, limits=limits, owner=owner, confirm=self._confirm
            )
            outcomes = _MODES[reference.mode](program_run)
        return verdict_of(
            outcomes,
            total=total,
            fraction=reference.scoring == "fraction",
            flags=marks,
            hide=reference.hide_tests,
            extracted=program.code[:_SHOWN_CHARS],
            span=program.span,
            message=candidate.message_index,
            explanation={"program_sha256": hashlib.sha256(source).hexdigest()} if candidate.explain else {},
        )


def _trust_flags(spec: Spec) -> tuple[str, ...]:
    low = spec.reference.mode == "asserts" and spec.reference.trust == "low"
    return ("trust:low",) if low else ()


def _extract(spec: Spec, candidate: Candidate) -> extraction.Program | None:
    answer = candidate.answer
    if spec.reference.extract == "whole":
        text = candidate.text
        return extraction.Program(text, (0, len(text)))
    if answer is None:
        return None
    found = extraction.last_fence(answer.text, spec.reference.language)
    if found is None:
        return None
    start, end = found.span
    return extraction.Program(found.code, (start + answer.offset, end + answer.offset))


def _limits(spec: Spec, candidate: Candidate) -> Limits:
    """The row's limits, with the item's own options. Raises `InvalidItem` above a ceiling."""
    asked = {name: candidate.options.get(option) for name, option in _OPTION_OF_LIMIT.items()}
    for name, value in asked.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise InvalidItem("must be a number", field=f"options.{_OPTION_OF_LIMIT[name]}")
    limits = spec.limits.override(**asked)
    try:
        check_limits(limits)
    except LimitTooHigh as error:
        raise InvalidItem(str(error), field="options") from error
    return limits
