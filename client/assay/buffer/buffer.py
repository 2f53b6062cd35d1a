"""Groups from their draw to the batch that trains them: states, accounts, batches in the order of draws, resuming.

Every change is written before it counts, so that a run that is killed at any moment continues exactly: groups that
were running start again under their own number, admitted ones stay, and batches that were taken after the last
checkpoint are replayed as recorded. Use it from one thread at a time.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.buffer.pacing import Pacing
from assay.buffer.samples import StoredSample
from assay.buffer.states import FINAL, TRANSITIONS, GroupState, Reason
from assay.buffer.store import BufferFailed, Store

__all__ = ["Buffer", "BufferFailed"]

Order = Literal["draw", "finished"]


@dataclass
class OpenGroup:
    """A group without a final state. `attempts`: how often it started."""

    number: int
    state: GroupState
    version: int | None = None
    attempts: int = 0


class Buffer:
    """The groups of one run."""

    def __init__(
        self, path: Path | None = None, *, pacing: Pacing, fingerprint: str = "", order: Order = "draw",
        max_draws: int | None = None, first: int = 0,
    ) -> None:  # fmt: skip
        """Open or create the buffer; `path` None keeps it in memory.

        `order`: in which order admitted groups enter batches. `max_draws`: draws after which a batch is taken with
        fewer groups (`order = "draw"` only). `first`: number of the first draw of an empty buffer. Raises
        `BufferFailed`.
        """
        self.pacing, self._order, self._max_draws = pacing, order, max_draws
        self._store = Store(path, fingerprint=fingerprint)
        self.open: dict[int, OpenGroup] = {}
        self._load(first)

    def _load(self, first: int) -> None:
        self._taken = max(self._store.batches(-1), default=0)
        self.next_number = self._store.next_number() or first
        self._totals = Counter(self._store.counts())
        self._rows = self._store.mastered()
        for number, state, version, attempts in self._store.open_groups():
            self.open[number] = OpenGroup(number, GroupState(state), version, attempts)
        self._ready = [one.number for one in self.open.values() if one.state is GroupState.ADMITTED]
        self._head = min(self.open, default=self.next_number)
        self._draws = self._store.dropped_in(self._taken + 1, before=self._head)
        with self.changes():
            for group in list(self.open.values()):
                if group.state is GroupState.RUNNING:
                    self.restart(group.number)
        if self._order == "draw":
            self._ready = []
            self._advance()

    @contextlib.contextmanager
    def changes(self) -> Iterator[None]:
        """Group changes into one write."""
        with self._store.transaction():
            yield

    # --- one group ------------------------------------------------------------------------------

    def draw(self) -> int:
        """Return the number of a new group."""
        number, self.next_number = self.next_number, self.next_number + 1
        self.open[number] = OpenGroup(number, GroupState.DRAWN)
        self._totals["drawn", ""] += 1
        self._store.write("INSERT INTO groups(number, state) VALUES (?, 'drawn')", (number,))
        return number

    def start(self, number: int, *, version: int) -> None:
        """Record that a group runs on a worker that holds `version`."""
        group = self._move(number, GroupState.RUNNING)
        group.version, group.attempts = version, group.attempts + 1
        self._store.write(
            "UPDATE groups SET version = ?, attempts = ? WHERE number = ?", (version, group.attempts, number)
        )

    def restart(self, number: int) -> None:
        """Put a running group back, because its worker was lost. Its samples so far are deleted."""
        self._move(number, GroupState.DRAWN)
        self._store.write("DELETE FROM samples WHERE number = ?", (number,))

    def judge(self, number: int, samples: Iterable[StoredSample]) -> None:
        """Record the samples and verdicts of a group."""
        self._move(number, GroupState.JUDGED)
        self._store.put_samples(number, samples)

    def admit(self, number: int) -> None:
        """Let a group wait for a batch."""
        self._move(number, GroupState.ADMITTED)
        if self._order == "finished":
            self._ready.append(number)
        self._advance()

    def drop(self, number: int, reason: Reason) -> None:
        """End a group that is not trained."""
        self._move(number, GroupState.DROPPED, reason)
        if number in self._ready:
            self._ready.remove(number)
        self._store.write("UPDATE groups SET ended = ? WHERE number = ?", (self._taken + 1, number))
        self._advance()

    def _move(self, number: int, state: GroupState, reason: Reason | None = None) -> OpenGroup:
        group = self.open.get(number)
        if group is None or state not in TRANSITIONS[group.state]:
            raise ValueError(f"group {number}: not from {group.state.value if group else 'its end'} to {state.value}")
        text = "" if reason is None else reason.value
        self._totals[group.state.value, ""] -= 1
        self._totals[state.value, text] += 1
        group.state = state
        if state in FINAL:
            del self.open[number]
        self._store.write("UPDATE groups SET state = ?, reason = ? WHERE number = ?", (state.value, text, number))
        return group

    # --- counts ---------------------------------------------------------------------------------

    @property
    def running(self) -> int:
        """Groups that have started, or must start again, and are not judged."""
        return sum(self._totals[state, ""] for state in ("drawn", "running", "judged"))

    @property
    def admitted(self) -> int:
        """Groups that wait for a batch."""
        return self._totals["admitted", ""]

    @property
    def accepted(self) -> int:
        """Groups that batches took or may take, since the run began; a batch that was taken short counts as full."""
        return self._taken * self.pacing.batch + self.admitted

    @property
    def taken(self) -> int:
        """The last batch that was taken, by its step."""
        return self._taken

    def room(self, *, version: int) -> int:
        """Return how many groups may start on a worker that holds `version`, those waiting to start again included."""
        again = self._totals["drawn", ""]
        return self.pacing.room(accepted=self.accepted, running=self.running - again, version=version)

    def accounts(self) -> dict[str, int]:
        """Return the number of groups by state, and of dropped ones by `dropped:<reason>`."""
        return {
            f"{state}:{reason}" if reason else state: count for (state, reason), count in self._totals.items() if count
        }

    # --- batches --------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Move the head over the groups that are admitted or ended, in the order of draws."""
        if self._order != "draw":
            return
        while self._head < self.next_number:
            group = self.open.get(self._head)
            if group is not None and group.state is not GroupState.ADMITTED:
                return
            if group is not None:
                self._ready.append(self._head)
            self._head += 1
            self._draws += 1

    def ready(self) -> bool:
        """Return whether the next batch can be taken."""
        short = self._max_draws is not None and self._draws >= self._max_draws and self._order == "draw"
        return len(self._ready) >= self.pacing.batch or short

    def blocked_by(self) -> int | None:
        """Return the open group for which the next batch waits, or None."""
        return self._head if self._order == "draw" and self._head in self.open else None

    def take(self, *, figures: Callable[[Sequence[int]], Mapping[str, Any]] = lambda _: {}) -> list[int] | None:
        """Take the next batch: its groups, in the order of draws; None if too many were stale and it must wait.

        `figures` is called with the groups and returns what is stored with the batch.
        """
        step = self._taken + 1
        with self.changes():
            self._drop_stale(step)
            if not self.ready():
                return None
            chosen, self._ready = self._ready[: self.pacing.batch], self._ready[self.pacing.batch :]
            for number in chosen:
                self._move(number, GroupState.TRAINED)
                self._store.write("UPDATE groups SET step = ?, ended = ? WHERE number = ?", (step, step, number))
            self._store.write("INSERT INTO batches VALUES (?, ?)", (step, json.dumps(figures(chosen))))
            self._drop_stale(step + 1)
        self._taken, self._draws = step, 0
        return sorted(chosen)

    def _drop_stale(self, step: int) -> None:
        """Drop the admitted groups that are too old for batch `step`."""
        for number in list(self._ready):
            version = self.open[number].version
            if version is not None and self.pacing.stale(version=version, step=step):
                self.drop(number, Reason.STALE)

    def oldest_admitted(self) -> int | None:
        """Return the admitted group that was drawn first, or None."""
        return min((one.number for one in self.open.values() if one.state is GroupState.ADMITTED), default=None)

    # --- prompts that are mastered ----------------------------------------------------------------

    def master(self, row: int) -> None:
        """Record that a row is not drawn again."""
        self._rows.add(row)
        self._store.write("INSERT OR IGNORE INTO mastered VALUES (?)", (row,))

    def is_mastered(self, row: int) -> bool:
        """Return whether a row is not drawn again."""
        return row in self._rows

    # --- resuming and ending ------------------------------------------------------------------------

    def recorded(self, *, after: int) -> dict[int, dict[str, Any]]:
        """Return the batches that were taken after step `after`, with their figures: to be replayed."""
        return self._store.batches(after)

    def samples(self, number: int) -> list[StoredSample]:
        """Return the stored samples of a group."""
        return self._store.samples(number)

    def trained_in(self, step: int) -> list[int]:
        """Return the groups of a batch, in the order of draws."""
        return self._store.trained_in(step)

    def ended_in(self, step: int) -> list[int]:
        """Return the judged groups that trained, or were dropped, in a step, in the order of draws."""
        return self._store.ended_in(step)

    def rewind(self, *, step: int, first: int) -> None:
        """Forget all batches after `step` and all groups from draw `first` on. Nothing is replayed then."""
        with self.changes():
            self._store.write("DELETE FROM samples WHERE number >= ?", (first,))
            self._store.write("DELETE FROM groups WHERE number >= ?", (first,))
            self._store.write("DELETE FROM batches WHERE step > ?", (step,))
        self.open.clear()
        self._load(first)
        self.next_number = max(self.next_number, first)
        self._taken = step

    def skip_to(self, step: int) -> None:
        """Count the batches up to `step` as taken: a checkpoint is ahead of the file."""
        self._taken = max(self._taken, step)

    @property
    def pruned(self) -> int:
        """The last step of which the tokens are deleted: batches up to it cannot be replayed."""
        return self._store.pruned

    def prune(self, step: int) -> None:
        """Delete the tokens of what ended up to `step`: no checkpoint before it is left to replay from."""
        self._store.prune(step)

    def end(self) -> None:
        """Return what is still open to the data set, as the run has ended."""
        with self.changes():
            for number in list(self.open):
                self._move(number, GroupState.RETURNED)
        self._ready = []

    def close(self) -> None:
        """Close the file."""
        self._store.close()
