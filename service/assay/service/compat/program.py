"""The verifier `sandbox_run`: runs a program once and reports what it did. Available only through SandboxFusion's
protocol.

The completion is the whole program. Its reward is 1 for exit code 0 and means nothing more: the protocol returns
`tests`, with one entry for the compiler, if the language has one, and one for the run.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, ClassVar

from pydantic import Field

from assay.contract.base import Reference
from assay.sandbox import (
    Compiled,
    CompileFailed,
    Limits,
    LimitTooHigh,
    RunResult,
    RunSpec,
    SandboxError,
    Slot,
    Toolchain,
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
CELLS_FILE = ".assay-cells.json"
"""Where the driver of cells leaves what they gave."""


class ProgramReference(Reference):
    """How to run the program."""

    language: str = Field(description="python, c, cpp, … as available on the host.")
    stdin: str = Field("", description="Standard input.")
    wall_s: float = Field(10.0, gt=0, description="Seconds of wall time.")
    memory_mb: int | None = Field(None, gt=0, description="MiB of memory (default 512).")
    files: dict[str, str] = Field(default_factory=dict, description="Path in the working folder -> base64.")
    fetch: list[str] = Field(default_factory=list, max_length=64, description="Paths of files to return.")
    cells: list[str] = Field(default_factory=list, max_length=256, description="Cells to run, instead of a program.")
    cell_s: float | None = Field(None, gt=0, description="Seconds of wall time of each cell.")


class Prepared:
    """A checked reference."""

    def __init__(self, reference: ProgramReference) -> None:
        """Raise `InvalidReference` if the reference cannot be run."""
        self.language, self.stdin = reference.language, reference.stdin.encode("utf-8", "replace")
        if self.language not in language_table():
            raise InvalidReference(f"unknown language; known: {', '.join(language_table())}", field="language")
        self.limits = Limits().override(wall_s=reference.wall_s, memory_mb=reference.memory_mb)
        self.files = [(_path(name), _content(text)) for name, text in reference.files.items()]
        self.fetch = [_path(name) for name in reference.fetch]
        self.cells, self.cell_s = reference.cells, reference.cell_s
        if self.cells and self.language != "python":
            raise InvalidReference("cells are for python", field="language")
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
        if spec.cells:
            return [_cells_step(where.run(self._cells(spec, toolchain, owner)))]
        source = candidate.text.encode("utf-8", "replace")
        try:
            compiled = compile_program(where, toolchain, source, owner=owner, limits=spec.limits)
        except CompileFailed as failure:
            return [_step("compile", failure.result, failed=True)]
        run = where.run(
            program(
                compiled,
                stdin=spec.stdin,
                limits=spec.limits,
                files=spec.files,
                fetch=spec.fetch,
                owner=owner,
            )
        )
        step = {**_step("run", run), "files": _fetched(run) if spec.fetch else {}}
        if compiled.artefact is None:
            return [step]
        compiling = _step("compile", compiled.result) if compiled.result else _COMPILED_BEFORE
        return [compiling, step]

    def _cells(self, spec: Prepared, toolchain: Toolchain, owner: str) -> RunSpec:
        driver = files("assay.service.compat").joinpath("cells.py").read_bytes()
        asked = json.dumps({"cells": spec.cells, "cell_s": spec.cell_s}).encode()
        return program(
            Compiled(toolchain=toolchain, source=driver),
            stdin=asked,
            limits=spec.limits,
            files=spec.files,
            fetch=[*spec.fetch, CELLS_FILE],
            owner=owner,
        )


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


_COMPILED_BEFORE: Mapping[str, Any] = {
    "step": "compile",
    "status": "ok",
    "return_code": 0,
    "wall_s": 0.0,
    "stdout": "",
    "stderr": "",
}
"""The compile step of a program that was compiled for an earlier request."""


def _fetched(run: RunResult) -> dict[str, str]:
    """Return the files that a run left, name -> base64; empty where it left none."""
    try:
        found = json.loads(run.outputs[0])
    except (ValueError, IndexError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(content, str) for content in found.values()):
        return {}
    return found


def _cells_step(run: RunResult) -> Mapping[str, Any]:
    """Return the step of a notebook run, with the results of its cells from the file that the driver writes."""
    found = _fetched(run)
    try:
        cells = json.loads(base64.b64decode(found.pop(CELLS_FILE, "")))
    except (ValueError, RecursionError):
        cells = []
    return {**_step("run", run), "files": found, "cells": cells if isinstance(cells, list) else []}


def _path(name: str) -> str:
    """Return a path below the working folder. Raises `InvalidReference`."""
    parts = name.split("/")
    if len(name) > 512 or not name.isprintable() or any(part in ("", ".", "..") or len(part) > 128 for part in parts):
        raise InvalidReference("a file's path must lie in the working folder", field="files")
    return name


def _content(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise InvalidReference("a file is not base64", field="files") from None
