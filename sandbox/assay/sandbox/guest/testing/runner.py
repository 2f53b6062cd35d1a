"""In the tests jail: run a row's test code against a program in another jail, and report whether it passed.

The program's names appear as proxies over a relay. Whatever depends on the row alone (`units`) is decided before the
program starts. The verdict goes only to the host, on a pipe that the program never sees. Where a row says
`trust: low`, tests run in the program's own process.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
import types
import unittest
from typing import Any

from assay.sandbox.guest.relay import relay, sideeffects
from assay.sandbox.guest.testing import pytest_shim
from assay.sandbox.guest.testing.session import Session
from assay.sandbox.guest.testing.units import Unit
from assay.sandbox.guest.values import codec, stdtypes
from assay.sandbox.guest.zygote import calls, program

VERDICT_FD, READ_FD, WRITE_FD = 3, 4, 5
_READY = b"ready\n"
"""Sent before the program starts. After it the host accepts no report that blames the row."""
_REHEARSAL = (
    b"def check(f):\n    assert f(1) == [1, 'a'], 'message'\n    for n in range(2):\n        assert f(n)\ncheck(fib)\n"
)
Head = dict[str, Any]


def rehearse() -> None:
    """Parse some test code; a zygote does so a few times before its first run, to be warm."""
    Unit(_REHEARSAL)


def run(head: Head, blobs: list[bytes]) -> int:
    """Run one unit of test code and send the verdict to the host. Return the exit code."""
    sys.setrecursionlimit(5000)
    pytest_shim.install()
    try:
        unit = Unit(blobs[0], together=bool(head.get("low_trust")))
    except (SyntaxError, ValueError, RecursionError):
        return _conclude({"invalid": True})
    if unit.lacking:
        return _conclude({"lacking": unit.lacking})
    if b"mock" in blobs[0]:
        sys.modules.setdefault("mock", importlib.import_module("unittest.mock"))
    unittest.main = _no_main  # type: ignore[assignment]
    if head.get("low_trust"):
        _tell(_READY)
        return _score_together(head, blobs[1:], unit)
    peer = relay.Peer(READ_FD, WRITE_FD, trusting=False, own_module="__main__")
    sideeffects.patch_dataclasses()
    try:
        _tell(_READY)  # the row alone decided everything so far: the program has not started
        asked: dict[str, Any] = {"want": sorted(unit.wanted)}
        if b"input" in blobs[0] or b"stdin" in blobs[0]:
            asked["input"] = peer.encode_function(_input)  # which the tests may have replaced
        peer.send(asked)
        hello = peer.receive()
        peer.take(hello)
        if "names" not in hello:
            return _conclude({"passed": False, "why": "load"})
        offered = _proxies(peer, hello["names"], unit.wanted)
        session = Session({name: item for name, item in offered.items() if name not in unit.hiding}, unit)
        peer.on_globals = session.refresh
        _stand_in(unit, offered)
    except (relay.PeerGone, ValueError, KeyError, TypeError, AttributeError):
        return _conclude({"passed": False, "why": "gone"})
    return _conclude(_verdict(session, peer))


def _input(*prompt: Any) -> str:
    """What the program's `input` does: the tests' own."""
    return input(*prompt)


def _no_main(*args: Any, **keywords: Any) -> Any:
    """As `unittest.main(exit=False)`; the tests run afterwards, and their result is the verdict's."""
    return _Program()


class _Program(int):
    """What `unittest.main` gives: as an exit code, 0."""

    result = unittest.TestResult()


def _verdict(session: Session, peer: relay.Peer | None) -> dict[str, Any]:
    try:
        why = session.run()
    except relay.PeerGone:
        why = "gone"
    except SystemExit:
        why = "exit"
    except Exception:
        why = "error"
    lied = peer is not None and peer.lied
    if why is None and peer is not None:
        why = "gone" if peer.gone else "lied" if lied else "assertion" if peer.failed else None
    if why is None and session.count == 0:
        why = "nothing_checked"
    if peer is not None and (peer.blocked or (why is not None and peer.untransferable is not None)):
        why = "not_transferable"
    return {"passed": why is None, "why": why, "count": session.count, "lied": lied}


def _proxies(peer: relay.Peer, offers: Any, wanted: set[str]) -> dict[str, Any]:
    """What the program offers of what the tests asked for; whatever else it sends is ignored."""
    names: dict[str, Any] = {}
    for offer in offers:
        name = offer["name"]
        if not isinstance(name, str) or name not in wanted or name in names:
            continue
        if "class" in offer:
            names[name] = peer.import_class(offer)
        elif "namedtuple" in offer:
            names[name] = stdtypes.namedtuple_class(*offer["namedtuple"])
        elif "shared" in offer:
            names[name] = stdtypes.resolve_shared(offer["shared"], name)
        else:
            names[name] = peer.decode(offer["value"])
    return names


def _stand_in(unit: Unit, names: dict[str, Any], own: types.ModuleType | None = None) -> None:
    """Let the modules that stand for the program be imported, with the packages that they are in.

    With `own`, the program's own module, they are that one: what a test patches there, the program sees.
    """
    public = {key: item for key, item in names.items() if not key.startswith("__")}
    for name in sorted(unit.imports.modules):
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            path = ".".join(parts[:end])
            if path in sys.modules and path not in unit.imports.modules:
                continue
            parent, _, part = path.rpartition(".")
            if own is not None and path in unit.imports.modules:
                module = own
                vars(own).setdefault("__path__", [])
            else:
                module = types.ModuleType(path)
                module.__path__ = []
                module.__dict__.update(vars(sys.modules[path]) if path in sys.modules else {})
                module.__dict__.update(public)
                module.__dict__["__all__"] = [key for key in public if key not in unit.hiding]
            sys.modules[path] = module
            if parent and sys.modules[parent] is own:
                vars(own).setdefault(part, module)  # and a global of the program keeps its name
            elif parent:
                setattr(sys.modules[parent], part, module)


def _score_together(head: Head, blobs: list[bytes], unit: Unit) -> int:
    """`trust: low`: the program's own names, in this process; the verdict can be forged."""
    try:
        module, given = calls.load(head, blobs, extra={})
    except BaseException as error:
        program.report(error)
        return _conclude({"passed": False, "why": "load"})
    names = {name: item for name, item in module.__dict__.items() if name not in given}
    rebound = _rebound(blobs[0]) & (unit.wanted - unit.hiding)
    offered = {name: item for name, item in names.items() if name in unit.wanted - unit.hiding - rebound}
    session = Session(offered, unit, module, rebound)
    _stand_in(unit, names, own=module)
    return _conclude(_verdict(session, None))


def _rebound(source: bytes) -> set[str]:
    """Return the global names that functions of the program bind."""
    return {name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Global) for name in node.names}


def _tell(data: bytes) -> None:
    os.write(VERDICT_FD, data)


def _conclude(verdict: dict[str, Any]) -> int:
    _tell(codec.json_dumps(verdict).encode() + b"\n")
    return 0
