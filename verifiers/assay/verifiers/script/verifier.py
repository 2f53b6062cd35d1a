"""`script`: the row's (or the operator's) own Python says how right a completion is, in the sandbox.

Completion, reference data and prompt go in as data; a finite number comes out, with a reason if it likes. The
program is the row's, so one that does not load refuses the row, and so does one that fails on the row's own
`gold`. One that fails on a completion gives 0: a completion cannot buy an excuse by breaking its judge. The score is
correctness where it lies in [0, 1]. The jail keeps nothing between runs, so the verdict is as pure as the program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.contract.references.script import ScriptReference
from assay.sandbox import CEILINGS, Limits, LimitTooHigh, check_limits, slot
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate, Message
from assay.verifiers.errors import InvalidReference
from assay.verifiers.sandboxing import OpenSlot, Ran, run_on_values
from assay.verifiers.script.driver import DRIVER

_REASON = re.compile(r"[a-z][a-z0-9_]{0,63}")
_OWNERS = 64


@dataclass(frozen=True, kw_only=True)
class ScriptSpec:
    """A row, ready to be judged by. `proven`: the owners for whom the gold has been run."""

    reference: ScriptReference
    limits: Limits
    proven: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Said:
    """A program's word on one completion."""

    score: float
    reason: str | None = None
    text: str = ""


class ScriptVerifier(Verifier[ScriptReference, ScriptSpec]):
    """Your own program on (completion, data, prompt), in the sandbox."""

    name = "script"
    version = 1
    reference_model = ScriptReference
    reads = frozenset({"completion", "prefill", "prompt"})
    budget = Budget(prepare_cpu_s=2.0, verify_cpu_s=20.0)
    sandboxed = True

    def __init__(self, open_slot: OpenSlot = slot) -> None:
        self._open_slot: OpenSlot = open_slot

    def prepare(self, reference: ScriptReference) -> ScriptSpec:
        """Check the limits. Raises `InvalidReference`."""
        asked = reference.limits.model_dump() if reference.limits else {}
        limits = Limits().override(**asked)
        try:
            check_limits(limits, CEILINGS)
        except LimitTooHigh as error:
            raise InvalidReference(str(error), field="limits") from error
        return ScriptSpec(reference=reference, limits=limits)

    def wall_s(self, spec: ScriptSpec) -> float:
        """Two runs to their limits, with what noise is granted."""
        return 8 * spec.limits.wall_s + 50.0

    def verify(self, spec: ScriptSpec, candidate: Candidate) -> Verdict:
        """Run the program. Raises `SandboxUnavailable`, and `InvalidReference` for a program at fault."""
        self._prove(spec, candidate)
        answer = candidate.answer
        if spec.reference.think == "strip" and answer is None:
            return Verdict(reward=0.0, score=0.0, reason="no_answer", message=candidate.message_index)
        text = candidate.text if spec.reference.think == "keep" or answer is None else answer.text
        said = _said(self._run(spec, candidate, text))
        return _verdict(said, candidate)

    def _prove(self, spec: ScriptSpec, candidate: Candidate) -> None:
        """Run the row's gold, once. Raises `InvalidReference`."""
        gold = spec.reference.gold
        if gold is None or candidate.owner in spec.proven:
            return
        said = _said(self._run(spec, candidate, gold))
        if isinstance(said, str) or said.score <= 0:
            raise InvalidReference("the program does not accept the row's own gold", field="gold")
        if len(spec.proven) < _OWNERS:
            spec.proven.add(candidate.owner)

    def _run(self, spec: ScriptSpec, candidate: Candidate, completion: str) -> Ran:
        inputs = {"completion": completion, "data": spec.reference.data, "prompt": _prompt(candidate.prompt)}
        return run_on_values(
            DRIVER, spec.reference.source, inputs, limits=spec.limits, environment=spec.reference.env,
            owner=candidate.owner, open_slot=self._open_slot,
        )  # fmt: skip


def _prompt(prompt: str | tuple[Message, ...] | None) -> Any:
    if prompt is None or isinstance(prompt, str):
        return prompt
    return [{"role": message.role, "content": message.content} for message in prompt]


def _said(ran: Ran) -> _Said | str:
    """The program's word, or the reason code of its failure. Raises `InvalidReference` if it does not load."""
    if ran.failure is not None:
        return ran.failure
    frame: Mapping[str, Any] = ran.value if isinstance(ran.value, dict) else {}
    if frame.get("kind") == "broken":
        raise InvalidReference("the program does not load, or defines no `verify`", field="source")
    said = frame.get("said")
    value = said.get("score") if isinstance(said, dict) else said
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return "runtime_error"
    reason = str(said.get("reason", "")) if isinstance(said, dict) else ""
    return _Said(float(value), reason if _REASON.fullmatch(reason) else None, reason)


def _verdict(said: _Said | str, candidate: Candidate) -> Verdict:
    if isinstance(said, str):
        return Verdict(reward=0.0, score=0.0, reason=said, message=candidate.message_index)
    score = said.score if 0 <= said.score <= 1 else None
    return Verdict(
        reward=said.score,
        score=score,
        reason=said.reason or ("equal" if score == 1 else "unequal"),
        message=candidate.message_index,
        explanation={"program": said.text} if candidate.explain and said.text else {},
    )
