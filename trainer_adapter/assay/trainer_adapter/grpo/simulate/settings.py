"""The table `[simulate]`: the figures of a simulated cluster. What is not given is taken from a measured run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from assay.trainer_adapter.grpo.run.section import Section

Seconds = Annotated[float, Field(ge=0)]


class Spread(Section):
    """A log-normal distribution, cut off at `max`."""

    median: float = Field(gt=0)
    sigma: float = Field(0.0, ge=0, description="Standard deviation of the logarithm.")
    max: float | None = Field(None, gt=0)


class Lengths(Spread):
    """Tokens of a sample.

    `shared`: share of the logarithm's variance that the samples of a group have in common, because they have their
    prompt in common.
    """

    shared: float = Field(0.5, ge=0, le=1)


class Simulate(Section):
    """See docs/async.md.

    Seconds are of one worker: a decode step of k sequences takes `step_s + k * sequence_s`, the first token of a group
    `prefill_s`, the weights of a version `load_s`. The trainer takes `publish_s` to write a version, and
    `update_s + tokens * update_token_s` for the update of a batch.
    """

    steps: int | None = Field(None, ge=1, description="Default: the run's.")
    workers: int | None = Field(None, ge=1, description="Default: the run's.")
    slots: int | None = Field(None, ge=1, description="Sequences at once in a worker. Default: the run's.")
    lengths: Lengths | None = None
    verdict_s: Spread | None = None
    step_s: Seconds | None = None
    sequence_s: Seconds | None = None
    prefill_s: Seconds | None = None
    load_s: Seconds | None = None
    publish_s: Seconds | None = None
    update_s: Seconds | None = None
    update_token_s: Seconds | None = None
    zero_variance: float | None = Field(None, ge=0, lt=1, description="Share of groups without variance.")
    failure_every_s: float | None = Field(None, gt=0, description="Mean time between failures of one worker.")
    restart_s: Seconds = 60.0
    outages: list[tuple[float, float]] = Field([], description="Of the verdict service: start and duration, seconds.")

    @model_validator(mode="after")
    def _ordered(self) -> Simulate:
        if any(start < 0 or duration <= 0 for start, duration in self.outages):
            raise ValueError("outages are pairs of start and duration in seconds, the duration above 0")
        return self
