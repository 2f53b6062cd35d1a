"""The `composite` verifier: parts, and the algebra that mixes their rewards."""

from assay.verifiers.composite.verifier import CompositeVerifier

__all__ = ["CompositeVerifier"]
