"""From a source text to a `RunSpec`: compile once in a jail of its own, run many times.

A compiled program is kept under a digest of source, command, compiler and owner; one regular file
leaves the compile jail, through a bounded pipe, and is run from a sealed memfd.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.sandbox.host.execution import sealed_memfd
from assay.sandbox.host.slots import Slot
from assay.sandbox.languages import ARTEFACT_BYTES, COMPILE_LIMITS, Toolchain
from assay.sandbox.limits import Limits
from assay.sandbox.spec import RunResult, RunSpec, Status

_EXEC_FD = 3
_LEAST_COMPILE_S = 8.0
Files = Sequence[tuple[str, bytes]]


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """A program ready to run: its toolchain, its source, and the artefact where there is one."""

    toolchain: Toolchain
    source: bytes
    artefact: int | None = None
    result: RunResult | None = None
    """The compiler's run; None where nothing was compiled now."""


class CompileFailed(Exception):
    """The program does not compile within the limits; `result` is the compiler's run."""

    def __init__(self, result: RunResult) -> None:
        super().__init__("the program does not compile")
        self.result = result


def python_program(source: bytes, *, stdin: bytes | int = b"", limits: Limits | None = None, **fields: Any) -> RunSpec:
    """A Python script, run as `__main__` by a fork of a warm interpreter."""
    return RunSpec(
        action="script",
        head={"name": "main.py", "source": 0, "files": [["main.py", 0o644, 0]], "argv": []},
        blobs=[source],
        stdin=stdin,
        limits=limits or Limits(),
        **fields,
    )


def compile_program(
    slot: Slot, toolchain: Toolchain, source: bytes, *, owner: str = "", limits: Limits | None = None
) -> Compiled:
    """Compile `source` (once per slot's supervisor). Raises `CompileFailed` or `Unavailable`.

    `limits` are those of the program's runs: what compiling may take is bounded by a multiple of them.
    """
    command = toolchain.language.compile
    if command is None:
        return Compiled(toolchain=toolchain, source=source)
    key = _key(toolchain, source, owner)
    artefact, result = slot.find_artefact(key), None
    if artefact is None:
        result = _compile(slot, toolchain, source, owner, limits or Limits())
        artefact = sealed_memfd("artefact", result.outputs[0])
        slot.keep_artefact(key, artefact)
    return Compiled(toolchain=toolchain, source=source, artefact=artefact, result=result)


def _key(toolchain: Toolchain, source: bytes, owner: str) -> str:
    parts = (owner.encode(), toolchain.digest.encode(), str(toolchain.language.compile).encode(), source)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _compile_limits(limits: Limits) -> Limits:
    """Return what one compilation may use: CPU seconds by the row's limits, so that a bomb does not hold the slot."""
    cpu_s = min(COMPILE_LIMITS.cpu_seconds, max(_LEAST_COMPILE_S, 2 * limits.cpu_seconds))
    return replace(COMPILE_LIMITS, cpu_s=cpu_s)


def _compile(slot: Slot, toolchain: Toolchain, source: bytes, owner: str, limits: Limits) -> RunResult:
    language = toolchain.language
    command = (language.compile or "").format(probe=toolchain.executable)
    leave = f"[ -f artefact ] && [ ! -L artefact ] && exec cat artefact >&{_EXEC_FD}"
    spec = RunSpec(
        action="exec",
        head={
            "argv": ["sh", "-c", f"{{ {command}; }} </dev/null >&2 {_EXEC_FD}>&- && {leave}"],
            "path": "/bin/sh",
            "files": [[language.source, 0o644, 0]],
        },
        blobs=[source],
        limits=_compile_limits(limits),
        outputs=1,
        output_bytes=ARTEFACT_BYTES,
        image="system",
        role="compile",
        owner=owner,
    )
    result = slot.run(spec)
    if not result.ok or not result.outputs[0]:
        raise CompileFailed(result)
    return result


def program(
    compiled: Compiled,
    *,
    stdin: bytes | int = b"",
    limits: Limits | None = None,
    argv: Sequence[str] = (),
    files: Files = (),
    fetch: Sequence[str] = (),
    environment: str = "plain",
    **fields: Any,
) -> RunSpec:
    """A run of a program in any language, with further files and arguments.

    `fetch` names files that the program may leave; they are the first output, as JSON (see `guest/zygote/fetching`).
    """
    if fetch:
        plain = program(
            compiled, stdin=stdin, limits=limits, argv=argv, files=files, environment=environment, outputs=1, **fields
        )
        return replace(plain, head={**plain.head, "fetch": list(fetch)})
    limits = limits or Limits()
    language = compiled.toolchain.language
    if language.name == "python":
        return _with_files(
            python_program(compiled.source, stdin=stdin, limits=limits, environment=environment, **fields),
            argv,
            files,
        )
    wide = replace(
        limits,
        processes=limits.processes + language.extra_processes,
        memory_mb=limits.memory_mb + language.memory_slack_mb,
        stack_mb=max(limits.stack_mb, language.stack_mb),
    )
    exec_fd = _EXEC_FD + fields.get("outputs", 0)
    head: dict[str, Any] = {**_command(compiled, limits, exec_fd), "stack_mb": language.stack_mb, "env": {}}
    head["argv"] = [*head["argv"], *argv]
    head["files"] = [] if language.compile else [[language.source, 0o644, 0]]
    spec = RunSpec(
        action="exec",
        head=head,
        blobs=[compiled.source],
        stdin=stdin,
        limits=wide,
        image="system",
        copies=() if compiled.artefact is None else (compiled.artefact,),
        **fields,
    )
    return _with_files(spec, (), files)


def _command(compiled: Compiled, limits: Limits, exec_fd: int) -> Mapping[str, Any]:
    language = compiled.toolchain.language
    if language.run == ("{artefact}",):
        return {"argv": ["./" + language.source.partition(".")[0]], "exec_fd": exec_fd}
    filled = [
        word.format(
            probe=compiled.toolchain.executable, memory_mb=limits.memory_mb, artefact_path=f"/proc/self/fd/{exec_fd}"
        )
        for word in language.run
    ]
    return {"argv": filled, "path": filled[0]}


def _with_files(spec: RunSpec, argv: Sequence[str], files: Files) -> RunSpec:
    head = dict(spec.head)
    if argv:
        head["argv"] = [*head["argv"], *argv]
    first = len(spec.blobs)
    head["files"] = [*head["files"], *([name, 0o644, first + index] for index, (name, _) in enumerate(files))]
    return replace(spec, head=head, blobs=[*spec.blobs, *(content for _, content in files)])


def failure_reason(result: RunResult) -> str:
    """The reason code of a run that did not end well."""
    return "runtime_error" if result.status is Status.OK else result.status.value
