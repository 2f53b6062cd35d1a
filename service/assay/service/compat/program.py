"""The verifier `sandbox_run`: runs a program once and reports what it did. Available only through SandboxFusion's
protocol.

The completion is the whole program. Its reward is 1 for exit code 0 and means nothing more: the protocol returns
`tests`,
with one entry for the compiler, if the language has one, and one for the run.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from assay.contract.base import Reference
from assay.sandbox import (
    CompileFailed,
    Limits,
    LimitTooHigh,
    RunResult,
    SandboxError,
    Slot,
    check_limits,
    compile_program,
    language_table,
    program,
    slot,
)
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference, SandboxUnavailable

_COMPILING_S, _SLACK_S = 90.0, 30.0


class ProgramReference(Reference):
    """How to run the program."""

    language: str = Field(description="python, c, cpp, … as available on the host.")
    stdin: str = Field("", description="Standard input.")
    wall_s: float = Field(10.0, gt=0, description="Seconds of wall time.")
    memory_mb: int | None = Field(None, gt=0, description="MiB of memory (default 512).")
    files: dict[str, str] = Field(default_factory=dict, description="Name -> content in base64.")


class Prepared:
    """A checked reference."""

    def __init__(self, reference: ProgramReference) -> None:
        """Raise `InvalidReference` if the reference cannot be run."""
        self.language, self.stdin = reference.language, reference.stdin.encode("utf-8", "replace")
        if self.language not in language_table():
            raise InvalidReference(f"unknown language; known: {', '.join(language_table())}", field="language")
        self.limits = Limits().override(wall_s=reference.wall_s, memory_mb=reference.memory_mb)
        self.files = [(_name(name), _content(text)) for name, text in reference.files.items()]
        try:
            check_limits(self.limits)
        except LimitTooHigh as error:
            raise InvalidReference(str(error), field="limits") from None


class ProgramVerifier(Verifier[ProgramReference, Prepared]):
    """Run a program."""

    name: ClassVar[str] = "sandbox_run"
    version: ClassVar[int] = 1
    reference_model = ProgramReference
    budget: ClassVar[Budget] = Budget(prepare_cpu_s=2.0, verify_cpu_s=20.0)
    sandboxed: ClassVar[bool] = True
    repeatable: ClassVar[bool] = False

    def __init__(self, open_slot: Callable[[], Slot] = slot) -> None:
        self._open_slot = open_slot

    def prepare(self, reference: ProgramReference) -> Prepared:
        """Check the reference. Raises `InvalidReference`."""
        return Prepared(reference)

    def wall_s(self, spec: Prepared) -> float:
        """Return the total seconds for compiling and running."""
        return 4 * spec.limits.wall_s + _COMPILING_S + _SLACK_S

    def verify(self, spec: Prepared, candidate: Candidate) -> Verdict:
        """Run the program. Raises `SandboxUnavailable`; never because of what the program does."""
        try:
            steps = self._steps(spec, candidate)
        except SandboxError as error:
            raise SandboxUnavailable(str(error)) from error
        score = float(all(step["return_code"] == 0 for step in steps))
        return Verdict(reward=score, score=score, reason="passed" if score else "runtime_error", tests=steps)

    def _steps(self, spec: Prepared, candidate: Candidate) -> list[Mapping[str, Any]]:
        where, owner = self._open_slot(), candidate.owner
        toolchain = where.toolchain(spec.language)
        source = candidate.text.encode("utf-8", "replace")
        try:
            compiled = compile_program(where, toolchain, source, owner=owner)
        except CompileFailed as failure:
            return [_step("compile", failure.result, failed=True)]
        run = where.run(program(compiled, stdin=spec.stdin, limits=spec.limits, files=spec.files, owner=owner))
        return [_step("run", run)]


def _step(name: str, run: RunResult, *, failed: bool = False) -> Mapping[str, Any]:
    """Return a run in SandboxFusion's terms: a negative code is a signal, None a timeout."""
    code = run.exit_code if run.exit_code is not None else -(run.signal or 9)
    timed_out = run.status.value == "timeout"
    return {
        "step": name,
        "status": run.status.value,
        "return_code": None if timed_out else (code or 1) if failed or not run.ok else 0,
        "wall_s": round(run.wall_s, 6),
        "stdout": run.stdout.decode("utf-8", "replace"),
        "stderr": run.stderr.decode("utf-8", "replace"),
    }


def _name(name: str) -> str:
    """Return a plain file name. Raises `InvalidReference`."""
    if not name or len(name) > 128 or name in (".", "..") or "/" in name or "\0" in name or not name.isprintable():
        raise InvalidReference("file names with folders are not supported", field="files")
    return name


def _content(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise InvalidReference("a file is not base64", field="files") from None
