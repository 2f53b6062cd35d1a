"""Verdicts from Assay while generation goes on, and cancellation of stragglers.

Samples are sent as they are finished: one by one where stragglers may be cancelled, group by group where `patience_s`
is set, else in batches. Once a group has as many verdicts as it needs, or `patience_s` is over, the open requests are
cancelled, down to the program in the sandbox. A completion without a verdict has no reward, and never one of 0.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any

from assay.client.templates import RowFault
from assay.trainer_adapter.grades import Grade
from assay.trainer_adapter.grpo.rollout.data import Draw
from assay.trainer_adapter.grpo.rollout.samples import Group, Sample
from assay.trainer_adapter.grpo.run.config import Reward
from assay.trainer_adapter.missing import ungraded
from assay.trainer_adapter.rows import RowMap
from assay.trainer_adapter.scorer import Scorer
from assay.trainer_adapter.sessions import Target

UNSENT = 256
"""Samples that are collected before they are sent, where nothing may be cancelled."""
CANCELLED = "cancelled"


class SampleScorer:
    """Turns samples into items and scores them, on the client session of this process."""

    def __init__(self, settings: Reward, *, run: str, scorer: Scorer | None = None) -> None:
        self.settings, self._run = settings, run
        self._rows = RowMap(verifier=settings.verifier, reference=settings.reference, fields=settings.fields)
        target = Target.of(settings.url, api_key=settings.api_key, **settings.options)
        self._scorer = scorer or Scorer(target, deadline_s=settings.deadline_s)

    def submit(self, pairs: Sequence[tuple[Draw, Sample]], *, step: int) -> Future[list[Grade]]:
        """Return a future of the grades; cancelling it cancels the items."""
        return self._scorer.submit([self._item(draw, sample, step) for draw, sample in pairs])

    def _item(self, draw: Draw, sample: Sample, step: int) -> Mapping[str, Any] | Grade:
        try:
            item = self._rows.item(draw.prompt.row, sample.text)
        except RowFault as fault:
            return Grade.of_row(str(fault))
        if isinstance(item, Grade):
            return item
        about = {
            "group": str(draw.number), "run": self._run, "step": step, "prompt": draw.prompt.said,
            "completion_tokens": sample.tokens, "truncated": sample.truncated,
        }  # fmt: skip
        return {**about, **item}


class Scoring:
    """Collects the verdicts of groups. `needed`: samples per group; `extra` further ones are stragglers."""

    def __init__(
        self, scorer: SampleScorer, draws: Sequence[Draw] = (), *, needed: int, extra: int, step: int = 0
    ) -> None:
        """`draws`: groups that are open from the start. `step`: label of what is sent."""
        self.scorer, self._needed, self._extra = scorer, needed, extra
        self.step = step
        self.groups: dict[int, Group] = {}
        self._open: dict[Future[list[Grade]], list[Sample]] = {}
        self._unsent: list[Sample] = []
        self._sent_at: dict[Future[list[Grade]], float] = {}
        self._delivered_at: dict[int, float] = {}
        self.latencies_s: list[float] = []
        self.cancelled = 0
        for draw in draws:
            self.add(draw)

    def add(self, draw: Draw) -> None:
        """Open a group."""
        self.groups[draw.number] = Group(draw)

    def deliver(self, sample: Sample) -> None:
        """Send a finished sample, or keep it until its batch is complete. Samples of closed groups are ignored."""
        if sample.draw not in self.groups:
            return
        members = self.groups[sample.draw].samples
        members.append(sample)
        if len(members) == self._needed + self._extra:
            self._delivered_at[sample.draw] = time.monotonic()
        if self._extra:
            self._send([sample])
            return
        self._unsent.append(sample)
        if self.scorer.settings.patience_s is not None:
            self._send_whole_groups()
        elif len(self._unsent) >= UNSENT:
            self.flush()

    def _send_whole_groups(self) -> None:
        by_draw = defaultdict(list)
        for sample in self._unsent:
            by_draw[sample.draw].append(sample)
        for samples in by_draw.values():
            if len(samples) == self._needed:
                self._send(samples)
                self._unsent = [one for one in self._unsent if one.draw != samples[0].draw]

    def enough(self, draw: int) -> bool:
        """Return whether a group has the verdicts that it needs, so that its stragglers can be cancelled.

        Only completions with a reward count. Always False if `extra` is 0: nothing is cancelled then. True for a group
        that is closed.
        """
        if draw not in self.groups:
            return True
        if not self._extra:
            return False
        self.collect()
        return self._has_enough(draw)

    def _has_enough(self, draw: int) -> bool:
        return bool(self._extra) and sum(map(_judged, self.groups[draw].samples)) >= self._needed

    def complete(self) -> list[Group]:
        """Close the groups that have what they need, and return them in the order of their draws."""
        now = time.monotonic()
        return [self._close(number) for number in sorted(self.groups) if self._is_complete(number, now)]

    def _is_complete(self, number: int, now: float) -> bool:
        if self._has_enough(number):
            return True
        if number not in self._delivered_at:
            return False
        patience = self.scorer.settings.patience_s
        over = patience is not None and now - self._delivered_at[number] >= patience
        return over or all(sample.grade is not None for sample in self.groups[number].samples)

    def discard(self, number: int) -> None:
        """Forget a group, and cancel what is open of it alone."""
        if self.groups.pop(number, None) is not None:
            self._cancel_of({number})

    def finish(self) -> list[Group]:
        """Wait for what is needed, cancel the rest, and return the groups in the order of their draws."""
        self.flush()
        patience = self.scorer.settings.patience_s
        until = None if patience is None else time.monotonic() + patience
        while self._wanted() and (until is None or time.monotonic() < until):
            self.collect(wait_s=0.05 if until is None else max(0.001, min(0.05, until - time.monotonic())))
        self.collect()
        self.abandon()
        return [self._close(number) for number in list(self.groups)]

    def abandon(self) -> None:
        """Cancel every open request."""
        for future in list(self._open):
            self._cancel(future)

    def _wanted(self) -> bool:
        return any(not self.enough(sample.draw) for samples in list(self._open.values()) for sample in samples)

    def flush(self) -> None:
        """Send what was kept."""
        wanted = [sample for sample in self._unsent if sample.draw in self.groups]
        self._unsent = []
        if wanted:
            self._send(wanted)

    def _send(self, samples: list[Sample]) -> None:
        pairs = [(self.groups[sample.draw].draw, sample) for sample in samples]
        future = self.scorer.submit(pairs, step=self.step)
        self._open[future] = list(samples)
        self._sent_at[future] = time.monotonic()

    @property
    def waiting(self) -> bool:
        """Whether a request is open."""
        return bool(self._open)

    def collect(self, *, wait_s: float = 0.0) -> None:
        """Collect the verdicts that have arrived; wait up to `wait_s` for one if there is none."""
        done = [future for future in self._open if future.done()]
        if not done and wait_s and self._open:
            _wait(next(iter(self._open)), wait_s)
            done = [future for future in self._open if future.done()]
        for future in done:
            samples = self._open.pop(future)
            self.latencies_s.append(time.monotonic() - self._sent_at.pop(future))
            for sample, grade in zip(samples, future.result(), strict=True):
                sample.grade = grade

    def _cancel(self, future: Future[list[Grade]]) -> None:
        samples = self._open.pop(future)
        self._sent_at.pop(future)
        future.cancel()
        self.cancelled += len(samples)
        for sample in samples:
            sample.grade = Grade(None, None, CANCELLED, "service", "cancelled as a straggler")

    def _cancel_of(self, draws: set[int]) -> None:
        """Cancel the open requests that hold samples of these draws only."""
        for future, samples in list(self._open.items()):
            if {sample.draw for sample in samples} <= draws:
                self._cancel(future)

    def _close(self, number: int) -> Group:
        """Close a group: at most `needed` samples, those with verdicts first, in the order of their indices."""
        group = self.groups.pop(number)
        self._delivered_at.pop(number, None)
        self._cancel_of({number})
        judged = [sample for sample in group.samples if sample.grade is not None]
        judged.sort(key=lambda sample: (not _judged(sample), sample.index))
        group.samples = sorted(judged[: self._needed], key=lambda sample: sample.index)
        self._raise_outages(group)
        return group

    def _raise_outages(self, group: Group) -> None:
        lost = [sample.grade for sample in group.samples if sample.grade and sample.grade.fault == "service"]
        outages = [grade for grade in lost if grade.reason != CANCELLED]
        if outages and self.scorer.settings.on_outage == "raise":
            raise ungraded(outages, of=len(group.samples))


def _judged(sample: Sample) -> bool:
    return sample.grade is not None and sample.grade.reward is not None


def _wait(future: Future[Any], seconds: float) -> None:
    try:
        future.exception(timeout=seconds)
    except (TimeoutError, CancelledError):
        return
