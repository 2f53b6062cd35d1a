"""A slow plugin, so that processes can be killed while it runs."""

import time

from assay.verifiers import verifier


@verifier(version=1)
def slow(completion: str, reference: dict[str, str]) -> float:
    """Return whether the completion is the word, after a delay."""
    time.sleep(0.002)
    return float(completion == reference["word"])
