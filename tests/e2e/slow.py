"""A plugin that takes its time, so that something can be killed in the middle."""

import time

from assay.verifiers import verifier


@verifier(version=1)
def slow(completion: str, reference: dict[str, str]) -> float:
    """Whether the completion is the word, after a while."""
    time.sleep(0.002)
    return float(completion == reference["word"])
