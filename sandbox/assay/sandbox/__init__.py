"""Run one untrusted program: fast, bounded, and alone.

    with Supervisor.start(Settings(slots=2)) as supervisor:     # a process that owns the jails
        slot = Slot.from_descriptor(supervisor.connect())       # a lane's end
        result = slot.run(python_program(b"print(input())", stdin=b"hi", limits=Limits()))

A program that fails gives a `RunResult`; a sandbox that fails raises one of the exceptions below. Which guarantees hold
depends on backend and host and is reported by `supervisor.isolation()`. All backends share the host's kernel; if
programs may attack the kernel, run the service in a virtual machine.
"""

from assay.sandbox.environments import Environment, Recipe, sci
from assay.sandbox.errors import LimitTooHigh, MissingEnvironment, MissingLanguage, SandboxError, Unavailable
from assay.sandbox.host.image import default_state_dir
from assay.sandbox.host.slots import FD_VARIABLE, Slot, slot
from assay.sandbox.host.supervisor import Supervisor
from assay.sandbox.languages import Toolchain, found_languages, toolchain
from assay.sandbox.languages import table as language_table
from assay.sandbox.limits import CEILINGS, Limits
from assay.sandbox.limits import check as check_limits
from assay.sandbox.programs import Compiled, CompileFailed, compile_program, program, python_program
from assay.sandbox.settings import Settings
from assay.sandbox.spec import RunResult, RunSpec, Status

__all__ = [
    "CEILINGS",
    "FD_VARIABLE",
    "CompileFailed",
    "Compiled",
    "Environment",
    "LimitTooHigh",
    "Limits",
    "MissingEnvironment",
    "MissingLanguage",
    "Recipe",
    "RunResult",
    "RunSpec",
    "SandboxError",
    "Settings",
    "Slot",
    "Status",
    "Supervisor",
    "Toolchain",
    "Unavailable",
    "check_limits",
    "compile_program",
    "default_state_dir",
    "found_languages",
    "language_table",
    "program",
    "python_program",
    "sci",
    "slot",
    "toolchain",
]
