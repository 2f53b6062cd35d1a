"""Verifiers: each decides whether a completion is correct, given a reference."""

from assay.verifiers.base import Budget, Verdict, Verifier, binary
from assay.verifiers.candidate import Answer, Candidate, Message
from assay.verifiers.errors import InvalidItem, InvalidReference, NeedsSandbox, NoVerdict, SandboxUnavailable
from assay.verifiers.plugin import verifier

__all__ = [
    "Answer",
    "Budget",
    "Candidate",
    "InvalidItem",
    "InvalidReference",
    "Message",
    "NeedsSandbox",
    "NoVerdict",
    "SandboxUnavailable",
    "Verdict",
    "Verifier",
    "binary",
    "verifier",
]
