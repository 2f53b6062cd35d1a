"""What a call does beside its value: prints, warnings, log records. They go along with the program's next answer.

The tests' end prints, warns and logs them anew, so that `capsys`, `pytest.warns`, `assertLogs` and the like
see them. Not covered: levels below the program's own loggers' level; what is written to descriptors.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import logging
import sys
import warnings
from typing import Any

from assay.sandbox.guest.relay.proxies import RemoteThing, RemoteType
from assay.sandbox.guest.values import stdtypes

MAX_ECHO_CHARS = 1 << 16
_MAX_ENTRIES = 100


class Echoing(io.TextIOWrapper):
    """A standard stream that also keeps what a call prints, so that tests which capture output see it."""

    kept: str = ""

    def write(self, text: str) -> int:
        """Write, and keep up to a bound."""
        if len(self.kept) < MAX_ECHO_CHARS:
            self.kept += str.__str__(text)
        return super().write(text)

    def take(self) -> str:
        """What was kept since the last time."""
        kept, self.kept = self.kept[:MAX_ECHO_CHARS], ""
        return kept


class Recorder:
    """The program's end: puts itself into the streams, `warnings` and `logging`."""

    def __init__(self) -> None:
        self._streams = {
            name: Echoing(getattr(sys, name).buffer, encoding="utf-8", write_through=True)
            for name in ("stdout", "stderr")
        }
        self._warned: list[Any] = []
        self._logged: list[Any] = []

    def install(self) -> None:
        """Start to record."""
        for name, stream in self._streams.items():
            setattr(sys, name, stream)
        warnings.simplefilter("always")
        warnings.showwarning = self._note_warning
        original = logging.Logger.callHandlers

        def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
            if len(self._logged) < _MAX_ENTRIES:
                self._logged.append([logger.name, record.levelno, record.getMessage()[:MAX_ECHO_CHARS]])
            original(logger, record)

        logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign, assignment]

    def _note_warning(self, message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if len(self._warned) < _MAX_ENTRIES:
            self._warned.append([stdtypes.exception_names(category), str(message)[:MAX_ECHO_CHARS]])

    def take(self) -> list[Any] | None:
        """[standard output, standard error, warnings, log records] since the last time; None if there is nothing."""
        printed = [stream.take() for stream in self._streams.values()]
        warned, self._warned = self._warned, []
        logged, self._logged = self._logged, []
        return [*printed, warned, logged] if any(printed) or warned or logged else None


def replay(body: Any) -> None:
    """Do here what was done there. Whatever is ill-formed is left out."""
    if not (isinstance(body, list) and len(body) == 4):
        return
    for stream, text in zip((sys.stdout, sys.stderr), body, strict=False):
        if isinstance(text, str) and text:
            stream.write(text.encode("utf-8", "replace").decode())
    for entry in body[2][:_MAX_ENTRIES] if isinstance(body[2], list) else ():
        if isinstance(entry, list) and len(entry) == 2:
            kind = stdtypes.resolve_exception(entry[0])
            warnings.warn(str(entry[1]), kind if issubclass(kind, Warning) else UserWarning, stacklevel=3)
    for entry in body[3][:_MAX_ENTRIES] if isinstance(body[3], list) else ():
        if isinstance(entry, list) and len(entry) == 3 and isinstance(entry[0], str) and type(entry[1]) is int:
            logging.getLogger(entry[0]).log(entry[1], "%s", entry[2])


def patch_dataclasses() -> None:
    """Let `asdict`, `astuple`, `replace` and `is_dataclass` of the tests' end ask the program about its objects."""
    for name in ("asdict", "astuple", "replace", "is_dataclass", "fields"):
        setattr(dataclasses, name, _asking(getattr(dataclasses, name), name))


def _asking(original: Any, name: str) -> Any:
    @functools.wraps(original)
    def function(thing: Any, *args: Any, **keywords: Any) -> Any:
        if isinstance(thing, (RemoteThing, RemoteType)):
            return thing._peer.operate(name, thing._handle, args, keywords)
        return original(thing, *args, **keywords)

    return function
