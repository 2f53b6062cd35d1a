"""The `format` verifier: constraints on the shape of a completion."""

from assay.verifiers.format.verifier import FormatVerifier

__all__ = ["FormatVerifier"]
