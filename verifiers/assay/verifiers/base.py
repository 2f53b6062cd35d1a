"""A verifier: `prepare(reference) -> spec`, once per reference; `verify(spec, candidate) -> Verdict`.

`prepare` parses and checks the reference (it alone may refuse the row); its result is cached by hash
and shared by the whole group. `verify` is pure, deterministic and linear-time on untrusted text, does
no I/O (code aside), and never raises because of what a completion contains. The lane enforces CPU
budgets around both from outside (`Budget`); a verifier need not watch a clock, but must not swallow
`BaseException`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from assay.contract.base import Reference
from assay.verifiers.candidate import Candidate

R = TypeVar("R", bound=Reference)
S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """CPU seconds that one `prepare` and one `verify` may use, at most."""

    prepare_cpu_s: float = 2.0
    verify_cpu_s: float = 2.0


@dataclass(slots=True, kw_only=True)
class Verdict:
    """What a verifier says of one candidate.

    `reward` is finite. `score` is correctness in [0, 1], or None for a pure shaping term; it equals
    `reward` for plain verifiers. `span` counts code points of the judged text of message `message`.
    `explanation` is filled only if `candidate.explain`: plain JSON that tells a person how it was decided.
    """

    reward: float
    score: float | None
    reason: str
    extracted: Any = None
    span: tuple[int, int] | None = None
    message: int | None = None
    flags: tuple[str, ...] = ()
    tests: Sequence[Mapping[str, Any]] | None = None
    parts: Sequence[Mapping[str, Any]] | None = None
    explanation: Mapping[str, Any] = field(default_factory=dict)


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
