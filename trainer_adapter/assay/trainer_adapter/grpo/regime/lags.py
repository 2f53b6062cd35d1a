"""The two lags of a batch, in versions of the weights.

Data lag: the version that trains less the version that sampled, per token. Publication lag: the trainer's version less
the oldest that a generator holds, when the batch was taken. They differ: a buffer can be old while generators are
current, and the reverse.
"""

from __future__ import annotations

from assay.trainer_adapter.grpo.rollout.outcome import Collected
from assay.trainer_adapter.grpo.run.records import share

STATE = ("publication", "buffer_", "dropped_", "pool_")
"""Figures of buffer and pool when a batch was taken: drops since the run began, other counts since the last batch."""


def lags_of(done: Collected, step: int) -> dict[str, float | None]:
    """Return mean and greatest data lag over the batch's tokens, None without one, and the state of buffer and pool."""
    spans = [span for group in done.train for sample in group.samples for span in sample.spans]
    tokens = sum(count for _, count in spans)
    total = sum((step - 1 - version) * count for version, count in spans)
    return {
        "data_lag_mean": share(total, tokens),
        "data_lag_max": max((step - 1 - version for version, _ in spans), default=None),
        **{name: value for name, value in done.figures.items() if name.startswith(STATE)},
    }
