"""The `code` verifier: programs against tests, in the sandbox."""

from assay.verifiers.code.verifier import CodeVerifier

__all__ = ["CodeVerifier"]
