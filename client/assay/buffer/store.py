"""The buffer's file: SQLite in write-ahead mode, written by one process, whole after a kill at any moment.

What was committed survives a killed process; a power failure may lose the last commits (`synchronous = NORMAL`), never
the file. Errors of SQLite are `BufferFailed` with the file's name.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.buffer.samples import Row, StoredSample, row_of, sample_of

SCHEMA = """
CREATE TABLE IF NOT EXISTS about(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS groups(
  number INTEGER PRIMARY KEY, state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', version INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0, ended INTEGER, step INTEGER);
CREATE INDEX IF NOT EXISTS groups_step ON groups(step);
CREATE INDEX IF NOT EXISTS groups_ended ON groups(ended);
CREATE TABLE IF NOT EXISTS samples(
  number INTEGER NOT NULL, idx INTEGER NOT NULL, ids BLOB, mask BLOB, logps BLOB, spans TEXT, text TEXT,
  truncated INTEGER, grade TEXT, PRIMARY KEY(number, idx)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches(step INTEGER PRIMARY KEY, figures TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mastered(row INTEGER PRIMARY KEY);
"""
VERSION = "1"


class BufferFailed(RuntimeError):
    """The buffer's file cannot be read or written: no space, no permission, another owner, another run."""


class Store:
    """The tables of one buffer."""

    def __init__(self, path: Path | None, *, fingerprint: str) -> None:
        """Open or create the file; None keeps it in memory. Raises `BufferFailed` if it belongs to another run."""
        self._name = "memory" if path is None else str(path)
        with self.errors():
            self._db = sqlite3.connect(
                ":memory:" if path is None else path, isolation_level=None, check_same_thread=False, timeout=0.5
            )
            if path is not None:
                self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.executescript(SCHEMA)
        known = self._about("version"), self._about("fingerprint")
        if known == (None, None):
            self._set_about({"version": VERSION, "fingerprint": fingerprint})
        elif known != (VERSION, fingerprint):
            raise BufferFailed(f"{self._name}: the buffer of another run or version; use another folder")

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of SQLite into `BufferFailed`."""
        try:
            yield
        except sqlite3.Error as error:
            cure = "another process uses it" if "locked" in str(error) else str(error)
            raise BufferFailed(f"rollout buffer {self._name}: {cure}") from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all that happens inside, or nothing. Inside another transaction, it is a part of that one."""
        if self._db.in_transaction:
            yield
            return
        with self.errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _about(self, name: str) -> str | None:
        found = self._read("SELECT value FROM about WHERE name = ?", (name,))
        return str(found[0][0]) if found else None

    def _set_about(self, values: Mapping[str, str]) -> None:
        with self.transaction():
            self._db.executemany("INSERT INTO about VALUES (?, ?)", values.items())

    def _read(self, query: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        with self.errors():
            return self._db.execute(query, tuple(values)).fetchall()

    def write(self, query: str, values: Iterable[Any] = ()) -> None:
        """Run one statement that changes the tables."""
        with self.errors():
            self._db.execute(query, tuple(values))

    # --- groups and batches ------------------------------------------------------------------

    def open_groups(self) -> list[tuple[int, str, int | None, int]]:
        """Return number, state, version and attempts of the groups without a final state, in the order of draws."""
        return self._read(
            "SELECT number, state, version, attempts FROM groups"
            " WHERE state IN ('drawn', 'running', 'judged', 'admitted') ORDER BY number"
        )

    def counts(self) -> dict[tuple[str, str], int]:
        """Return the number of groups by state and reason."""
        found = self._read("SELECT state, reason, COUNT(*) FROM groups GROUP BY state, reason")
        return {(state, reason): count for state, reason, count in found}

    def next_number(self) -> int | None:
        """Return the number after the last draw, or None if there is none."""
        (last,) = self._read("SELECT MAX(number) FROM groups")[0]
        return None if last is None else int(last) + 1

    def batches(self, after: int) -> dict[int, dict[str, Any]]:
        """Return the figures of the recorded batches after step `after`."""
        found = self._read("SELECT step, figures FROM batches WHERE step > ? ORDER BY step", (after,))
        return {step: json.loads(figures) for step, figures in found}

    def trained_in(self, step: int) -> list[int]:
        """Return the groups of a batch, in the order of draws."""
        return [one for (one,) in self._read("SELECT number FROM groups WHERE step = ? ORDER BY number", (step,))]

    def ended_in(self, step: int) -> list[int]:
        """Return the groups with samples that trained, or were dropped, in a step, in the order of draws."""
        query = (
            "SELECT number FROM groups WHERE ended = ? AND EXISTS"
            " (SELECT 1 FROM samples WHERE samples.number = groups.number) ORDER BY number"
        )
        return [one for (one,) in self._read(query, (step,))]

    def dropped_in(self, step: int, *, before: int) -> int:
        """Return how many groups were dropped while the batch of a step was collected, up to a draw."""
        query = "SELECT COUNT(*) FROM groups WHERE ended = ? AND state = 'dropped' AND number < ?"
        return int(self._read(query, (step, before))[0][0])

    def mastered(self) -> set[int]:
        """Return the rows that are not drawn again."""
        return {row for (row,) in self._read("SELECT row FROM mastered")}

    # --- samples ------------------------------------------------------------------------------

    def put_samples(self, number: int, samples: Iterable[StoredSample]) -> None:
        """Write samples of a group, replacing those of the same index."""
        rows = [row_of(number, sample) for sample in samples]
        with self.errors():
            self._db.executemany("INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def samples(self, number: int) -> list[StoredSample]:
        """Return the samples of a group, by index."""
        found = self._read("SELECT * FROM samples WHERE number = ? ORDER BY idx", (number,))
        return [sample_of(_row(one)) for one in found]

    @property
    def pruned(self) -> int:
        """The last step of which the tokens are deleted."""
        return int(self._about("pruned") or 0)

    def prune(self, step: int) -> None:
        """Delete the tokens of groups that trained, or ended, in a step up to `step`. Texts and verdicts stay."""
        self.write("INSERT OR REPLACE INTO about VALUES ('pruned', ?)", (str(max(step, self.pruned)),))
        self.write(
            "UPDATE samples SET ids = x'', mask = x'', logps = x'' WHERE ids != x'' AND number IN"
            " (SELECT number FROM groups WHERE state IN ('trained', 'dropped') AND ended <= ?)",
            (step,),
        )

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _row(found: tuple[Any, ...]) -> Row:
    number, index, ids, mask, logps, spans, text, truncated, grade = found
    return number, index, ids, mask, logps, spans, text, truncated, grade
