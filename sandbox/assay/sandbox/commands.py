"""Commands for people: `assay run FILE` runs one program in the sandbox, `assay doctor` says what holds.

Both start a supervisor of their own. `run` shows the program's output as it came, with control
characters of a terminal made visible where output is a terminal.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.sandbox.environments import Recipe, sci
from assay.sandbox.errors import MissingEnvironment, SandboxError
from assay.sandbox.host.slots import Slot
from assay.sandbox.host.supervisor import Supervisor
from assay.sandbox.languages import table
from assay.sandbox.limits import Limits
from assay.sandbox.limits import check as check_limits
from assay.sandbox.programs import CompileFailed, compile_program, program
from assay.sandbox.settings import Settings
from assay.sandbox.spec import RunResult

_SUFFIXES = {
    ".py": "python", ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".js": "javascript", ".mjs": "javascript",
    ".sh": "bash", ".java": "java", ".go": "go", ".rs": "rust",
    ".cs": "csharp", ".ts": "typescript", ".rb": "ruby", ".php": "php", ".r": "r", ".R": "r", ".lua": "lua",
    ".pl": "perl", ".kt": "kotlin", ".scala": "scala",
}  # fmt: skip
_UNUSABLE = 2
Backends = Annotated[list[str] | None, typer.Option("--backend", help="nsjail, landlock or process; in order.")]
Unsafe = Annotated[
    bool, typer.Option("--unsafe-no-isolation", help="Allow the process backend: no isolation against malice.")
]


def run(
    file: Annotated[Path, typer.Argument(help="The program; - reads it from standard input.")],
    language: Annotated[str | None, typer.Option(help="Default: by the file's suffix, else python.")] = None,
    stdin: Annotated[Path | None, typer.Option(help="A file for its standard input (default: empty).")] = None,
    wall_s: Annotated[float, typer.Option(help="Seconds of wall time.")] = 10.0,
    memory_mb: Annotated[int, typer.Option(help="MiB of memory.")] = 512,
    processes: Annotated[int, typer.Option(help="Processes and threads.")] = 64,
    as_json: Annotated[bool, typer.Option("--json", help="The whole result as JSON.")] = False,
    environment: Annotated[
        str, typer.Option(help="Packages: plain (none), sci (numpy, scipy, pandas, sympy), or a name of your choice.")
    ] = "plain",
    requirements: Annotated[
        Path | None, typer.Option(help="A pip requirements file with the packages of your own environment.")
    ] = None,
    backend: Backends = None,
    unsafe_no_isolation: Unsafe = False,
) -> None:
    """Run one program in the sandbox: its output, and on stderr how it ended and what it used.

    Exit code: the program's own; 1 if it was stopped; 2 if nothing could be run.
    """
    source = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    chosen = language or _SUFFIXES.get(file.suffix, "python")
    limits = Limits(wall_s=wall_s, memory_mb=memory_mb, processes=processes)
    try:
        settings = replace(
            _settings(backend, unsafe_no_isolation), environments=_environments(environment, requirements)
        )
        check_limits(limits)
        if chosen not in table():
            raise SandboxError(f"unknown language; known: {', '.join(table())}")
        data = stdin.read_bytes() if stdin else b""
        result = _run(settings, chosen, source, environment, data, limits)
    except SandboxError as error:
        print(f"assay: {error}", file=sys.stderr)
        raise typer.Exit(_UNUSABLE) from None
    _show(result, as_json=as_json)
    raise typer.Exit(0 if result.ok else result.exit_code or 1)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
    backend: Backends = None,
    unsafe_no_isolation: Unsafe = False,
) -> None:
    """Say what this host can run and how well isolated: start the sandbox and try to break out of it.

    Exit code 0 if the first backend asked for works and every probe that it promises to stop was stopped.
    """
    try:
        with Supervisor.start(_settings(backend, unsafe_no_isolation)) as supervisor:
            report = supervisor.isolation()
    except SandboxError as error:
        print(f"assay: {error}", file=sys.stderr)
        raise typer.Exit(_UNUSABLE) from None
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        _show_report(report)
    raise typer.Exit(0 if report["holds"] else 1)


def _settings(backends: list[str] | None, unsafe: bool) -> Settings:
    return Settings(backends=tuple(backends or ("nsjail",)), slots=1, unsafe_no_isolation=unsafe)


def _environments(name: str, requirements: Path | None) -> tuple[Recipe, ...]:
    """The environment to install for one run. Raises `MissingEnvironment`."""
    if requirements is not None:
        return (Recipe(name=name, requirements=requirements.read_text()),)
    if name == "plain":
        return ()
    if name != "sci":
        raise MissingEnvironment(f"environment {name}: say what it holds (--requirements FILE)")
    return (sci(),)


def _run(settings: Settings, language: str, source: bytes, environment: str, stdin: bytes, limits: Limits) -> RunResult:
    with Supervisor.start(settings) as supervisor:
        slot = Slot.from_descriptor(supervisor.connect())
        try:
            compiled = compile_program(slot, slot.toolchain(language), source)
            return slot.run(program(compiled, stdin=stdin, limits=limits, environment=environment))
        except CompileFailed as failure:
            return failure.result
        finally:
            slot.close()


def _show(result: RunResult, *, as_json: bool) -> None:
    usage: dict[str, Any] = {
        "status": result.status.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "wall_ms": round(result.wall_s * 1e3, 1),
        "cpu_ms": round(result.cpu_s * 1e3, 1),
        "memory_kb": result.memory_kb,
    }
    if as_json:
        texts = {name: getattr(result, name).decode("utf-8", "replace") for name in ("stdout", "stderr")}
        print(json.dumps({**usage, **texts}))
        return
    _write(sys.stdout, result.stdout)
    _write(sys.stderr, result.stderr)
    print(" ".join(f"{key}={value}" for key, value in usage.items() if value is not None), file=sys.stderr)


def _write(stream: Any, data: bytes) -> None:
    if stream.isatty():
        text = data.decode("utf-8", "replace")
        stream.write("".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text))
    else:
        stream.buffer.write(data)
    stream.flush()


def _show_report(report: dict[str, Any]) -> None:
    print(f"backend       {report['backend']}")
    print(f"languages     {', '.join(report['languages'])}")
    print(f"environments  {', '.join(report['environments'])}")
    for name, fact in report["facts"].items():
        print(f"{name:<13} {fact}")
    for probe in report["probes"]:
        print(f"{'holds' if probe['holds'] else 'OPEN':<13} {probe['name']}: {probe['promise']}")
