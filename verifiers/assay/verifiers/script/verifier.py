"""`script`: a Python program of the row (or the operator) scores the completion, in the sandbox.

The program gets completion, reference data and prompt as data and returns a finite number, optionally with a reason.
The program belongs to the row, so one that does not load, or that fails on the row's own `gold`, refuses the row. One
that fails on a completion gives 0, so that no completion can turn a crash of the program into *no verdict*. The score
is correctness if it lies in [0, 1]. The jail keeps nothing between runs, so the verdict is as deterministic as the
program.
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
    """A prepared row. `proven`: the owners for whom the gold has been run."""

    reference: ScriptReference
    limits: Limits
    proven: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Scored:
    """A program's score of one completion, with its reason."""

    score: float
    reason: str | None = None
    text: str = ""


class ScriptVerifier(Verifier[ScriptReference, ScriptSpec]):
    """Run your own program on (completion, data, prompt), in the sandbox."""

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
        """Return the time of two runs to their limits, plus the tolerance for noise."""
        return 8 * spec.limits.wall_s + 50.0

    def verify(self, spec: ScriptSpec, candidate: Candidate) -> Verdict:
        """Run the program. Raises `SandboxUnavailable`, or `InvalidReference` for a faulty program."""
        self._prove(spec, candidate)
        answer = candidate.answer
        if spec.reference.think == "strip" and answer is None:
            return Verdict(reward=0.0, score=0.0, reason="no_answer", message=candidate.message_index)
        text = candidate.text if spec.reference.think == "keep" or answer is None else answer.text
        said = _scored(self._run(spec, candidate, text))
        return _verdict(said, candidate)

    def _prove(self, spec: ScriptSpec, candidate: Candidate) -> None:
        """Run the row's gold once per owner. Raises `InvalidReference`."""
        gold = spec.reference.gold
        if gold is None or candidate.owner in spec.proven:
            return
        said = _scored(self._run(spec, candidate, gold))
        if isinstance(said, str) or said.score <= 0:
            raise InvalidReference("the program does not accept the row's own gold", field="gold")
        if len(spec.proven) < _OWNERS:
            spec.proven.add(candidate.owner)

    def _run(self, spec: ScriptSpec, candidate: Candidate, completion: str) -> Ran:
        inputs = {"completion": completion, "data": spec.reference.data, "prompt": _prompt(candidate.prompt)}
        return run_on_values(
            DRIVER,
            spec.reference.source,
            inputs,
            limits=spec.limits,
            environment=spec.reference.env,
            owner=candidate.owner,
            open_slot=self._open_slot,
        )


def _prompt(prompt: str | tuple[Message, ...] | None) -> Any:
    if prompt is None or isinstance(prompt, str):
        return prompt
    return [{"role": message.role, "content": message.content} for message in prompt]


def _scored(ran: Ran) -> _Scored | str:
    """Return the program's score, or the reason code of its failure. Raises `InvalidReference` if it does not load."""
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
    return _Scored(float(value), reason if _REASON.fullmatch(reason) else None, reason)


def _verdict(said: _Scored | str, candidate: Candidate) -> Verdict:
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
