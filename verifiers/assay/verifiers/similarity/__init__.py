"""The `similarity` verifier: how close an answer is to a gold text."""

from assay.verifiers.similarity.verifier import SimilaritySpec, SimilarityVerifier

__all__ = ["SimilaritySpec", "SimilarityVerifier"]
