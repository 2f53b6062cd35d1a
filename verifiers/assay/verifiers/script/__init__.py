"""The `script` verifier: a row's own program says how right a completion is."""

from assay.verifiers.script.verifier import ScriptVerifier

__all__ = ["ScriptVerifier"]
