"""The `exact` verifier: whole answers extracted by a named rule and compared in a named mode."""

from assay.verifiers.exact.verifier import ExactSpec, ExactVerifier

__all__ = ["ExactSpec", "ExactVerifier"]
