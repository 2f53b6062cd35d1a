"""The two lags of a batch, in versions of the weights.

Data lag: the version that trains less the version that sampled, per token. Publication lag: the trainer's version less
the oldest that a generator holds, when the batch was taken. They differ: a buffer can be old while generators are
current, and the reverse.
"""

from __future__ import annotations

from assay.trainer_adapter.grpo.rollout.outcome import Collected
from assay.trainer_adapter.grpo.run.records import share


def lags_of(done: Collected, step: int) -> dict[str, float | None]:
    """Return mean and greatest data lag over the batch's tokens, and the publication lag; None where there is none."""
    spans = [span for group in done.train for sample in group.samples for span in sample.spans]
    tokens = sum(count for _, count in spans)
    total = sum((step - 1 - version) * count for version, count in spans)
    return {
        "data_lag_mean": share(total, tokens),
        "data_lag_max": max((step - 1 - version for version, _ in spans), default=None),
        "publication_lag": done.figures.get("publication_lag"),
    }
