"""Ahead-of-time compilation of the kernels for GPUs that this machine lacks, with gates on the machine code.

    python -m assay.trainer_adapter.grpo.kernels.compile [sm_90 …]     one line per kernel; exits 1 if a gate fails

Gates: no stack (no spills), at most 128 registers, 16-byte loads and stores, no fp64 arithmetic. Needs
Triton's own ptxas and cuobjdump (in its wheel), no GPU, and no TRITON_INTERPRET. It shows neither speed nor
correctness on the device: `bench/gpu.py` measures both where there is a GPU.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from assay.trainer_adapter.grpo.kernels import logits as kernel
from assay.trainer_adapter.grpo.kernels.advantage import KINDS, advantage_kernel

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
MAX_REGISTERS = 128
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
DOUBLE = re.compile(r"\b(DADD|DMUL|DFMA|DSETP|DMNMX)\b")
POINTERS = {
    "tokens": "*i64", "clipped_out": "*i8", "offsets": "*i64", "live": "*i8", "scored": "*i32",
}  # fmt: skip
SCALARS = {"stride": "i32", "vocab": "i32"}
FLOATS = ("temperature", "low", "high", "dual", "cap", "tau_pos", "tau_neg", "eps", "spread", "ddof")


@dataclass(frozen=True)
class Case:
    """A kernel with its constants; `wide`: 16-byte accesses are required."""

    name: str
    function: Any
    constants: dict[str, Any]
    pointer: str = "*fp32"
    warps: int = kernel.WARPS
    wide: bool = True


@dataclass(frozen=True)
class Report:
    """Figures of a compiled kernel."""

    registers: int
    stack: int
    wide_loads: int
    loads: int
    wide_stores: int
    doubles: int

    def faults(self, case: Case) -> list[str]:
        """Return the gates that it fails."""
        gates = {
            f"{self.stack} bytes of stack": self.stack == 0,
            f"{self.registers} registers": self.registers <= MAX_REGISTERS,
            "no 16-byte load": not case.wide or self.wide_loads > 0 or case.constants.get("MODE") == kernel.BACKWARD,
            "no 16-byte store": not case.wide or self.wide_stores > 0 or case.constants.get("MODE") == kernel.FORWARD,
            f"{self.doubles} fp64 operations": self.doubles == 0,
        }
        return [fault for fault, passed in gates.items() if not passed]


def cases() -> Iterator[Case]:
    """Yield the token kernel by mode, surrogate, KL and dtype; and the group advantage, not used by the loop yet."""
    row = {
        "CORRECT": False,
        "ON_POLICY": False,
        "ACC": triton.language.float32,
        "BLOCK": kernel.BLOCK,
        "KL": 0,
        "SURROGATE": 0,
    }
    for name, pointer in (("bf16", "*bf16"), ("fp32", "*fp32")):
        yield Case(f"forward {name}", kernel.token_kernel, {**row, "MODE": kernel.FORWARD}, pointer)
        yield Case(f"backward {name}", kernel.token_kernel, {**row, "MODE": kernel.BACKWARD}, pointer)
        for surrogate, number in kernel.SURROGATES.items():
            constants = {**row, "MODE": kernel.BOTH, "SURROGATE": number, "KL": 3, "CORRECT": True}
            yield Case(f"both {surrogate} k3 {name}", kernel.token_kernel, constants, pointer)
        constants = {**row, "MODE": kernel.BOTH, "ON_POLICY": True}
        yield Case(f"both on-policy {name}", kernel.token_kernel, constants, pointer)
    for kind, number in KINDS.items():
        yield Case(f"advantage {kind}", advantage_kernel, {"KIND": number, "BLOCK": 64}, warps=1, wide=False)


def compile_case(case: Case, architecture: str) -> bytes:
    """Return the machine code. Raises the compiler's errors."""
    names = case.function.arg_names
    kinds = {name: _type(name, case) for name in names}
    constants = {(names.index(name),): value for name, value in case.constants.items()}
    aligned = {
        (index,): [["tt.divisibility", 16]]
        for index, name in enumerate(names)
        if kinds[name].startswith("*") or name in SCALARS
    }
    source = ASTSource(fn=case.function, signature=kinds, constexprs=constants, attrs=aligned)
    target = GPUTarget("cuda", int(architecture.removeprefix("sm_")), 32)
    return triton.compile(source, target=target, options={"num_warps": case.warps}).asm["cubin"]


def _type(name: str, case: Case) -> str:
    if name in case.constants:
        return "constexpr"
    if name in SCALARS:
        return SCALARS[name]
    if name in FLOATS:
        return "fp32"
    return case.pointer if name == "logits" else POINTERS.get(name, "*fp32")


def inspect(code: bytes) -> Report:
    """Return the figures of the machine code, by the tools of Triton's wheel."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        usage = _tool("cuobjdump", "--dump-resource-usage", file.name)
        listing = _tool("nvdisasm", "-c", file.name)
    registers, stack = (int(re.search(rf"{name}:(\d+)", usage)[1]) for name in ("REG", "STACK"))  # type: ignore[index]
    return Report(
        registers,
        stack,
        len(re.findall(r"\bLDG\.E\S*\.128", listing)),
        len(re.findall(r"\bLDG\b", listing)),
        len(re.findall(r"\bSTG\.E\S*\.128", listing)),
        len(DOUBLE.findall(listing)),
    )


def _tool(name: str, *arguments: str) -> str:
    return subprocess.run([TOOLS / name, *arguments], capture_output=True, text=True, check=True).stdout


def main(architectures: list[str]) -> int:
    """Compile every case for every target, print one line each, and return 1 if a gate failed."""
    failed = 0
    print(f"{'kernel':<24}{'target':<8}{'regs':>5}{'stack':>7}{'LDG.128':>9}{'STG.128':>9}{'fp64':>6}")
    for architecture in architectures or ARCHITECTURES:
        for case in cases():
            report = inspect(compile_case(case, architecture))
            faults = report.faults(case)
            failed += bool(faults)
            figures = (report.registers, report.stack, report.wide_loads, report.wide_stores, report.doubles)
            widths = (5, 7, 9, 9, 6)
            line = "".join(f"{figure:>{width}}" for figure, width in zip(figures, widths, strict=True))
            print(f"{case.name:<24}{architecture:<8}{line}  {'; '.join(faults)}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
