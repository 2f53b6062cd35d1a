"""Fixtures that pytest brings along: captured output and log records, warnings."""

from __future__ import annotations

import collections
import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any


class Captured:
    """The `capsys` fixture."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._out, self._err = io.StringIO(), io.StringIO()
        stack.enter_context(contextlib.redirect_stdout(self._out))
        stack.enter_context(contextlib.redirect_stderr(self._err))

    def readouterr(self) -> Any:
        """What was written since the last time: `out` and `err`."""
        both = [stream.getvalue() for stream in (self._out, self._err)]
        for stream in (self._out, self._err):
            stream.seek(0)
            stream.truncate()
        return collections.namedtuple("CaptureResult", "out err")(*both)

    @contextlib.contextmanager
    def disabled(self) -> Iterator[None]:
        """As if nothing were captured; it still is."""
        yield


class Logged(logging.Handler):
    """The `caplog` fixture."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        super().__init__(0)
        self.records: list[logging.LogRecord] = []
        root = logging.getLogger()
        root.addHandler(self)
        stack.callback(root.removeHandler, self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record."""
        self.records.append(record)

    @property
    def messages(self) -> list[str]:
        """The records' messages."""
        return [record.getMessage() for record in self.records]

    @property
    def text(self) -> str:
        """All as lines."""
        return "".join(f"{r.levelname} {r.name}:{r.getMessage()}\n" for r in self.records)

    @property
    def record_tuples(self) -> list[tuple[str, int, str]]:
        """(name, level, message) of each."""
        return [(record.name, record.levelno, record.getMessage()) for record in self.records]

    def clear(self) -> None:
        """Forget what was kept."""
        self.records.clear()

    def set_level(self, level: Any, logger: str | None = None) -> None:
        """Set the level of a logger."""
        logging.getLogger(logger).setLevel(level)

    @contextlib.contextmanager
    def at_level(self, level: Any, logger: str | None = None) -> Iterator[None]:
        """Set the level of a logger for a while."""
        target = logging.getLogger(logger)
        old = target.level
        target.setLevel(level)
        try:
            yield
        finally:
            target.setLevel(old)


def _recorded(stack: contextlib.ExitStack) -> Any:
    caught = stack.enter_context(warnings.catch_warnings(record=True))
    warnings.simplefilter("always")
    return caught


BUILTIN: dict[str, Callable[[contextlib.ExitStack], Any]] = {
    "capsys": Captured, "capfd": Captured, "caplog": Logged, "recwarn": _recorded,
}  # fmt: skip
