"""Exit codes, and the error of a command that cannot go on. Imports nothing of Assay."""

from __future__ import annotations

OK, DIFFERS, UNUSABLE, UNFINISHED, INTERRUPTED = 0, 1, 2, 3, 130
"""0 every row has a result; 1 `check` found differences; 2 unusable input; 3 try again later (`--resume`)."""


class Unusable(Exception):
    """The input, an option or the output cannot be used: exit 2. Names the line, where there is one."""

    def __init__(self, message: str, *, line: int | None = None, source: str | None = None) -> None:
        place = ":".join(str(part) for part in (source, line) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)
