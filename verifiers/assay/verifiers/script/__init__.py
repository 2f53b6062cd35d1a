"""The `script` verifier: a program supplied by the row scores the completion."""

from assay.verifiers.script.verifier import ScriptVerifier

__all__ = ["ScriptVerifier"]
