"""The program's end of a relay: load the program, offer the names that the tests use, serve requests.

It holds no test and no expectation; whatever it sends is a value.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from assay.sandbox.guest import calls, program, relay, stdtypes, values

READ_FD, WRITE_FD = 3, 4
MAX_ECHO_CHARS = 1 << 16
Head = dict[str, Any]


class Echoing(io.TextIOWrapper):
    """Standard output that also keeps what a call prints, so that tests which capture output see it."""

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


def run(head: Head, blobs: list[bytes]) -> int:
    """Serve until the tests close the relay; returns the exit code."""
    printed, original = Echoing(sys.stdout.buffer, encoding="utf-8", write_through=True), sys.stdout
    peer = relay.Peer(READ_FD, WRITE_FD, trusting=True, own_module="solution", printed=printed.take)
    wanted = peer.receive()["want"]
    sys.stdout = printed
    try:
        module, given = calls.load(head, blobs, extra={})
    except Exception as error:
        program.report(error)
        peer.send({"failed": stdtypes.exception_names(type(error))})
        return 1
    names = {name: item for name, item in module.__dict__.items() if name not in given or item is not given[name]}
    peer.send({"names": _offers(peer, {name: names[name] for name in wanted if name in names})})
    try:
        while True:
            peer.send(peer.serve(peer.receive()))
    except relay.PeerGone:
        return 0
    finally:
        sys.stdout = original
        os.close(WRITE_FD)


def _offers(peer: relay.Peer, names: dict[str, Any]) -> list[Any]:
    """One entry per name: a class (bases first), a name of the standard library, or a value."""
    classes = {name: item for name, item in names.items() if _is_own_class(item)}
    ordered = sorted(classes, key=lambda name: len(classes[name].__mro__))
    peer.exported.update({classes[name]: classes[name].__name__ for name in ordered})
    offers = [_class_offer(peer, name, classes[name]) for name in ordered]
    for name, item in names.items():
        if name not in classes:
            offer = _offer(peer, name, item)
            if offer is not None:
                offers.append({"name": name, **offer})
    return offers


def _is_own_class(item: Any) -> bool:
    return isinstance(item, type) and item.__module__ == "solution" and not stdtypes.is_namedtuple(item)


def _class_offer(peer: relay.Peer, name: str, kind: type) -> Any:
    bases = [peer.exported[base] for base in kind.__mro__[1:] if base in peer.exported]
    raised = stdtypes.exception_names(kind) if issubclass(kind, BaseException) else None
    return {"name": name, "class": peer.encode(kind)["h"], "bases": bases[:1], "raised": raised}


def _offer(peer: relay.Peer, name: str, item: Any) -> Any:
    if isinstance(item, type) and stdtypes.is_namedtuple(item):
        return {"namedtuple": [item.__name__, list(item._fields)]}  # type: ignore[attr-defined]
    path = stdtypes.shared_name(item, name)
    if path is not None:
        return {"shared": path}
    try:
        return {"value": peer.encode(item)}
    except values.TooLarge:
        return None
