"""A verifier: `prepare(reference) -> spec`, once per reference; `verify(spec, candidate) -> Verdict`.

`prepare` parses and checks the reference (it alone may refuse the row); its result is cached by hash
and shared by the whole group. `verify` is pure, deterministic and linear-time on untrusted text, does
no I/O (code aside), and never raises because of what a completion contains. The lane enforces CPU
budgets around both from outside (`Budget`); a verifier need not watch a clock, but must not swallow
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
    """CPU seconds that one `prepare` and one `verify` may use, at most."""

    prepare_cpu_s: float = 2.0
    verify_cpu_s: float = 2.0


if TYPE_CHECKING:

    class Verdict(VerdictFields):
        """What a verifier says of one candidate; see below."""

        reward: float

else:
    # A dataclass made from the contract's one list of fields: a verdict is made for every item, and a pydantic
    # model takes three times as long. The lane checks what it encodes.
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
    Verdict.__doc__ = """What a verifier says of one candidate: the fields of `assay.contract.result.VerdictFields`.

    `reward` is finite. `score` is correctness in [0, 1], or None for a pure shaping term; it equals `reward` for
    plain verifiers. `explanation` is filled only if `candidate.explain`: plain JSON that tells a person how it
    was decided.
    """


class Verifier(ABC, Generic[R, S]):
    """Base of every verifier, built in or plugged in."""

    name: ClassVar[str]
    version: ClassVar[int]
    reference_model: ClassVar[type[Reference]]
    reads: ClassVar[frozenset[str]] = frozenset({"completion", "prefill"})
    """Item fields that a verdict may depend on; they enter the item's key."""
    budget: ClassVar[Budget] = Budget()
    sandboxed: ClassVar[bool] = False
    """True if `verify` runs programs: the engine then gives it a lane with a sandbox slot."""
    may_sandbox: ClassVar[bool] = False
    """True if some references make `verify` run programs; toolchains then enter the item's key."""
    repeatable: ClassVar[bool] = True
    """False if a result is a report of one run and no verdict: each item is then run, and nothing of it is kept."""
    needs_registry: ClassVar[bool] = False
    """True if it is made with the registry that it is found in, to find others by name."""

    @abstractmethod
    def prepare(self, reference: R) -> S:
        """Parse and check the reference. Raises `InvalidReference`."""

    def wall_s(self, spec: S) -> float | None:
        """Wall seconds after which `verify` is held to be stuck; None: the engine's own bound."""
        return None

    @abstractmethod
    def verify(self, spec: S, candidate: Candidate) -> Verdict:
        """Judge one candidate."""


def binary(correct: bool, reason: str | None = None, **fields: Any) -> Verdict:
    """The verdict of a verifier that says right or wrong."""
    reward = 1.0 if correct else 0.0
    return Verdict(reward=reward, score=reward, reason=reason or ("equal" if correct else "unequal"), **fields)
