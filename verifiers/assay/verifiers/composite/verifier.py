"""`composite`: parts scored by their own verifiers, and combined.

The row is refused if any part's reference is refused. Every part is always scored and returned. A part that needs
another part's reward is scored after it. If a part has no verdict, the composite has none: an outage of a judge must
become neither a 0 nor a reward renormalised over the other parts. Nesting depth is at most 4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError

from assay.contract.base import Reference
from assay.contract.references.composite import Combine, CompositeReference, Part
from assay.verifiers import presets, strict_json
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.composite import algebra
from assay.verifiers.composite.parts import part_of
from assay.verifiers.errors import InvalidReference, NoVerdict
from assay.verifiers.registry import AnyVerifier, Registry
from assay.verifiers.sandboxing import require_slot

DEPTH = 4
_STUCK_S = 10.0
"""Wall seconds for a part without a bound of its own, if another part has one."""


@runtime_checkable
class Dependent(Protocol):
    """A verifier that may need the rewards of other parts of its composite."""

    def siblings(self, spec: Any) -> frozenset[str]:
        """Return the names of the parts whose rewards it needs."""
        ...

    def verify_beside(self, spec: Any, candidate: Candidate, rewards: Mapping[str, float]) -> Verdict:
        """Score the candidate, given those rewards."""
        ...


@dataclass(frozen=True, kw_only=True)
class PreparedPart:
    """A part of a row with its verifier and prepared spec."""

    part: Part
    verifier: AnyVerifier
    spec: Any

    @property
    def siblings(self) -> frozenset[str]:
        """Names of the parts that must be scored before this one."""
        return self.verifier.siblings(self.spec) if isinstance(self.verifier, Dependent) else frozenset()

    def verify(self, candidate: Candidate, rewards: Mapping[str, float]) -> Verdict:
        """Return the part's verdict. Raises the part's `NoVerdict` with the part's name in its message."""
        try:
            if isinstance(self.verifier, Dependent):
                return self.verifier.verify_beside(self.spec, candidate, rewards)
            return self.verifier.verify(self.spec, candidate)
        except NoVerdict as refused:
            raise _named(refused, self.part.name) from refused


@dataclass(frozen=True, kw_only=True)
class CompositeSpec:
    """A prepared row. `order`: indices of the parts, dependencies first."""

    combine: Combine
    primary: str | None
    parts: tuple[PreparedPart, ...]
    order: tuple[int, ...]


class CompositeVerifier(Verifier[CompositeReference, CompositeSpec]):
    """Combine parts by weighted sum, product, minimum or gates."""

    name = "composite"
    version = 1
    reference_model = CompositeReference
    reads = frozenset(
        {
            "completion",
            "prefill",
            "prompt",
            "completion_tokens",
            "completion_ids",
            "scores",
            "final_state",
            "truncated",
            "options",
        }
    )
    budget = Budget(prepare_cpu_s=20.0, verify_cpu_s=60.0)
    may_sandbox = True
    needs_registry = True

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def prepare(self, reference: CompositeReference) -> CompositeSpec:
        """Prepare all parts. Raises `InvalidReference` with the part's field, or `NeedsSandbox`."""
        return self._prepare(reference, 1)

    def _prepare(self, reference: CompositeReference, depth: int) -> CompositeSpec:
        if depth > DEPTH:
            raise InvalidReference(f"composites nested deeper than {DEPTH}", field="parts")
        if reference.preset is not None:
            reference = _expanded(reference)
        parts, combine = reference.parts, reference.combine
        assert parts is not None and combine is not None
        names = [part.name for part in parts]
        if len(set(names)) < len(names):
            raise InvalidReference("two parts have the same name", field="parts")
        if reference.primary is not None and reference.primary not in names:
            raise InvalidReference("not the name of a part", field="primary")
        algebra.check(combine, names)
        prepared = tuple(self._part(part, f"parts.{index}", depth) for index, part in enumerate(parts))
        return CompositeSpec(combine=combine, primary=reference.primary, parts=prepared, order=_order(prepared))

    def _part(self, part: Part, field: str, depth: int) -> PreparedPart:
        verifier = self._verifier(part.verifier, f"{field}.verifier")
        try:
            model = _model(verifier.reference_model, part.reference)
            if verifier.sandboxed:
                require_slot()
            spec = self._prepare(model, depth + 1) if verifier is self else verifier.prepare(model)
        except ValidationError as error:
            raise _refusal(error, f"{field}.reference") from None
        except InvalidReference as refused:
            raise InvalidReference(refused.message, field=f"{field}.reference.{refused.field or ''}") from refused
        return PreparedPart(part=part, verifier=verifier, spec=spec)

    def _verifier(self, label: str, field: str) -> AnyVerifier:
        name, _, version = label.partition("@")
        try:
            verifier = self._registry.get(name)
        except KeyError:
            raise InvalidReference("unknown verifier", field=field) from None
        if version and version != str(verifier.version):
            raise InvalidReference("this service has another version of the verifier", field=field)
        return verifier

    def wall_s(self, spec: CompositeSpec) -> float | None:
        """Return the sum of the parts' own bounds, or None if no part has one."""
        bounds = [one.verifier.wall_s(one.spec) for one in spec.parts]
        return sum(_STUCK_S if bound is None else bound for bound in bounds) if any(bounds) else None

    def verify(self, spec: CompositeSpec, candidate: Candidate) -> Verdict:
        """Score all parts and combine them. Raises the `NoVerdict` of a part."""
        verdicts: dict[str, Verdict] = {}
        for index in spec.order:
            one = spec.parts[index]
            rewards = {name: verdict.reward for name, verdict in verdicts.items()}
            verdicts[one.part.name] = one.verify(candidate, rewards)
        return _verdict(spec, verdicts, candidate)


def _expanded(reference: CompositeReference) -> CompositeReference:
    """Return the reference with its preset expanded. Raises `InvalidReference`."""
    expanded = presets.expand(reference.preset or "", reference.params or {})
    try:
        model: CompositeReference = _model(CompositeReference, expanded)
        return model
    except ValidationError as error:
        raise _refusal(error, "params") from None


def _model(model: type[Reference], reference: dict[str, Any]) -> Any:
    """Return the reference as the verifier's model. Numbers that do not fit a float keep their text."""
    if strict_json.holds_lexemes(reference):
        return model.model_validate(reference)
    return model.model_validate_json(json.dumps(reference, allow_nan=False))


def _refusal(error: ValidationError, field: str) -> InvalidReference:
    """Return pydantic's first error as a refusal, without the input that pydantic echoes."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(step)[:40] for step in first["loc"])
    return InvalidReference(first["type"].replace("_", " "), field=f"{field}.{place}")


def _order(parts: Sequence[PreparedPart]) -> tuple[int, ...]:
    """Return the parts in order, each after those it needs. Raises `InvalidReference` for a cycle or an unknown
    name.
    """
    names = {one.part.name: index for index, one in enumerate(parts)}
    order: list[int] = []
    waiting = list(range(len(parts)))
    while waiting:
        done = {parts[index].part.name for index in order}
        ready = [index for index in waiting if parts[index].siblings <= done]
        if not ready:
            unknown = any(not parts[index].siblings <= names.keys() for index in waiting)
            fault = "not the name of a part" if unknown else "the parts depend on each other in a cycle"
            raise InvalidReference(fault, field=f"parts.{waiting[0]}.reference")
        order += ready
        waiting = [index for index in waiting if index not in ready]
    return tuple(order)


def _named(refused: NoVerdict, name: str) -> NoVerdict:
    """Return the same error with the part's name before its message."""
    return type(refused)(f"part {name[:80]}: {refused.message}", field=refused.field)


def _verdict(spec: CompositeSpec, verdicts: Mapping[str, Verdict], candidate: Candidate) -> Verdict:
    rewards = {name: verdict.reward for name, verdict in verdicts.items()}
    reward, closed = algebra.combined(spec.combine, [one.part for one in spec.parts], rewards)
    primary = _primary(spec, verdicts)
    says = verdicts[primary or spec.parts[0].part.name]
    explanation = {"primary": primary, "closed_gate": closed, "rewards": rewards}
    return Verdict(
        reward=reward,
        score=says.score if primary else None,
        reason="gate_closed" if closed is not None else says.reason,
        extracted=says.extracted,
        span=says.span,
        message=says.message,
        flags=tuple(dict.fromkeys(flag for verdict in verdicts.values() for flag in verdict.flags)),
        parts=[part_of(one.part, one.verifier, verdicts[one.part.name]) for one in spec.parts],
        explanation=explanation if candidate.explain else {},
    )


def _primary(spec: CompositeSpec, verdicts: Mapping[str, Verdict]) -> str | None:
    """Return the name of the part whose score is the composite's: `primary`, else the first that has a score."""
    if spec.primary is not None:
        return spec.primary if verdicts[spec.primary].score is not None else None
    return next((one.part.name for one in spec.parts if verdicts[one.part.name].score is not None), None)
