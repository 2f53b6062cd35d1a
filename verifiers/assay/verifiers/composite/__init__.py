"""The `composite` verifier: combines the rewards of several verifiers."""

from assay.verifiers.composite.verifier import CompositeVerifier

__all__ = ["CompositeVerifier"]
