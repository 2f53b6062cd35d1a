"""Small programs of a row, run in the sandbox on values: JSON in on standard input, one JSON frame out.

For verifiers that need the sandbox on some rows only. A driver runs the row's code; what that code
prints goes to standard error, and the frame leaves by a pipe of its own. The frame is read here, strictly
and bounded. Never a verdict about the completion by itself: what a frame is worth its verifier decides.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.sandbox import FD_VARIABLE, Limits, RunResult, RunSpec, SandboxError, Slot, python_program, slot
from assay.verifiers import strict_json
from assay.verifiers.errors import NeedsSandbox, SandboxUnavailable

FRAME_BYTES = 4 << 20
OpenSlot = Callable[[], Slot]


def require_slot() -> None:
    """Raises `NeedsSandbox` in a lane without a sandbox slot: the engine moves the item to one that has."""
    if not os.environ.get(FD_VARIABLE):
        raise NeedsSandbox("this reference runs programs")


@dataclass(frozen=True)
class Ran:
    """What came of a run: the value of its frame, or why there is none (a reason code)."""

    value: Any = None
    failure: str | None = None


def run_on_values(
    driver: str,
    source: str,
    inputs: Any,
    *,
    limits: Limits,
    environment: str = "plain",
    owner: str = "",
    open_slot: OpenSlot = slot,
) -> Ran:
    """Run `driver`, which gets `source` and `inputs` as JSON. Raises `SandboxUnavailable`."""
    payload = json.dumps({"source": source, "inputs": inputs}, ensure_ascii=True).encode()
    spec: RunSpec = python_program(
        driver.encode(),
        stdin=payload,
        limits=limits,
        environment=environment,
        owner=owner,
        role="row",
        outputs=1,
        output_bytes=FRAME_BYTES,
    )
    try:
        return _ran(open_slot().run(spec))
    except SandboxError as error:
        raise SandboxUnavailable(str(error)) from error


def _ran(result: RunResult) -> Ran:
    if not result.ok:
        return Ran(failure=result.status.value)
    try:
        return Ran(value=strict_json.value_of(result.outputs[0].decode("utf-8")))
    except (strict_json.JsonFault, UnicodeDecodeError, IndexError):
        return Ran(failure="no_result")
