"""The interface of a verifier: `prepare(reference) -> spec` once per reference, `verify(spec, candidate) -> Verdict`
per item.

`prepare` parses and checks the reference and is the only place that may refuse the row. Its result is cached by the
reference's hash and shared by the whole group. `verify` is pure, deterministic and linear-time on untrusted text, does
no I/O (except verifiers that use the sandbox), and never raises because of what a completion contains. The lane
enforces the CPU budgets of both from outside (`Budget`), so a verifier does not watch a clock, but it must not swallow
`BaseException`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, make_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from assay.contract.base import Reference
from assay.contract.result import VerdictFields
from assay.verifiers.candidate import Candidate

R = TypeVar("R", bound=Reference)
S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """CPU seconds that one `prepare` call and one `verify` call may use."""

    prepare_cpu_s: float = 2.0
    verify_cpu_s: float = 2.0


if TYPE_CHECKING:

    class Verdict(VerdictFields):
        """The result of scoring one candidate; see below."""

        reward: float

else:
    # A dataclass generated from the contract's one list of fields: one verdict is built per item, and a pydantic model
    # takes three times as long. The lane validates what it encodes.
    Verdict = make_dataclass(
        "Verdict",
        [
            (name, info.annotation, field() if info.is_required() else field(default=info.default))
            for name, info in VerdictFields.model_fields.items()
        ],
        slots=True,
        kw_only=True,
        module=__name__,
    )
    Verdict.__doc__ = """The result of scoring one candidate: the fields of `assay.contract.result.VerdictFields`.

    `reward` is finite. `score` is correctness in [0, 1], or None for a pure shaping term; it equals `reward` for
    plain verifiers. `explanation` is filled only if `candidate.explain` is set: plain JSON that explains the
    decision to a person.
    """


class Verifier(ABC, Generic[R, S]):
    """Base class of every verifier, built-in or plugin."""

    name: ClassVar[str]
    version: ClassVar[int]
    reference_model: ClassVar[type[Reference]]
    reads: ClassVar[frozenset[str]] = frozenset({"completion", "prefill"})
    """Item fields that a verdict may depend on. They are part of the item's key."""
    budget: ClassVar[Budget] = Budget()
    sandboxed: ClassVar[bool] = False
    """True if `verify` runs programs: the engine then uses a lane with a sandbox slot."""
    may_sandbox: ClassVar[bool] = False
    """True if only some references make `verify` run programs. Toolchain versions are then part of the item's key."""
    repeatable: ClassVar[bool] = True
    """False if two runs of one item may differ; results are then not cached."""
    needs_registry: ClassVar[bool] = False
    """True if the constructor takes the registry, to find other verifiers by name."""

    @abstractmethod
    def prepare(self, reference: R) -> S:
        """Parse and check the reference. Raises `InvalidReference`."""

    def wall_s(self, spec: S) -> float | None:
        """Return the wall seconds after which `verify` counts as stuck, or None for the engine's default."""
        return None

    @abstractmethod
    def verify(self, spec: S, candidate: Candidate) -> Verdict:
        """Score one candidate."""


def binary(correct: bool, reason: str | None = None, **fields: Any) -> Verdict:
    """Return a verdict with reward 1 or 0."""
    reward = 1.0 if correct else 0.0
    return Verdict(reward=reward, score=reward, reason=reason or ("equal" if correct else "unequal"), **fields)
