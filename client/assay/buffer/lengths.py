"""The lengths of the completions that a buffer's file has recorded."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from assay.buffer.store import BufferFailed


def lengths_of(path: Path) -> list[list[int]]:
    """Return the tokens of every sample that was judged, by group, in the order of draws. The file is only read.

    Raises `BufferFailed`.
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            for number, spans in db.execute("SELECT number, spans FROM samples ORDER BY number, idx"):
                groups[number].append(sum(tokens for _, tokens in json.loads(spans)))
    except (sqlite3.Error, ValueError) as error:
        raise BufferFailed(f"rollout buffer {path}: {error}") from None
    return list(groups.values())
