"""The program's end of a relay: load the program, offer the names that the tests use, serve requests.

It holds no test and no expectation; whatever it sends is a value.
"""

from __future__ import annotations

import builtins
import os
import sys
from typing import Any

from assay.sandbox.guest.relay import plain, proxies, relay, sideeffects
from assay.sandbox.guest.values import codec, stdtypes
from assay.sandbox.guest.zygote import calls, program

READ_FD, WRITE_FD = 3, 4
Head = dict[str, Any]


def run(head: Head, blobs: list[bytes]) -> int:
    """Serve until the tests close the relay; returns the exit code."""
    recorder, streams = sideeffects.Recorder(), (sys.stdout, sys.stderr)
    peer = relay.Peer(READ_FD, WRITE_FD, trusting=True, own_module="solution", done=recorder.take)
    asked = peer.receive()
    wanted = asked["want"]
    recorder.install()
    try:
        module, given = calls.load(head, blobs, extra={})
    except Exception as error:
        program.report(error)
        peer.send({"failed": stdtypes.exception_names(type(error))})
        return 1
    if "input" in asked:
        builtins.input = peer.decode(asked["input"])
    recorder.take()  # discard what the program printed while it was imported: no test may see it
    names = {name: item for name, item in module.__dict__.items() if name not in given or item is not given[name]}
    offered = {name: names[name] for name in wanted if name in names}
    peer.write(peer.composed({}, lambda message: message.update(names=_offers(peer, offered))))
    peer.globals = _Globals(module.__dict__, offered).changed
    try:
        while True:
            peer.write(peer.serve(peer.receive()))
    except relay.PeerGone:
        return 0
    finally:
        sys.stdout, sys.stderr = streams
        os.close(WRITE_FD)


class _Globals:
    """Global names that were offered to the tests."""

    def __init__(self, names: dict[str, Any], offered: dict[str, Any]) -> None:
        self._names = names
        self._last = {name: item for name, item in offered.items() if not isinstance(item, type)}

    def changed(self) -> dict[str, Any]:
        """Those that have another value than when this was last asked."""
        now = {name: self._names.get(name) for name in self._last}
        changed = {name: item for name, item in now.items() if item is not self._last[name]}
        self._last.update(changed)
        return changed


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
    return {
        "name": name,
        "class": [peer.keep(kind), "cls", peer.exported[kind]],
        "bases": bases[:1],
        "raised": raised,
        "operations": proxies.operations_of(kind),
        "doc": kind.__doc__,
        "plain": [base.__name__, plain.own_names(kind, base)] if (base := plain.base_of(kind)) else None,
    }


def _offer(peer: relay.Peer, name: str, item: Any) -> Any:
    if isinstance(item, type) and stdtypes.is_namedtuple(item):
        return {"namedtuple": [item.__name__, list(item._fields)]}  # type: ignore[attr-defined]
    path = stdtypes.shared_name(item, name)
    if path is not None:
        return {"shared": path}
    try:
        return {"value": peer.encode(item)}
    except codec.TooLarge:
        return None
