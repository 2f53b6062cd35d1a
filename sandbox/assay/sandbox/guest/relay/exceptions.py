"""Exceptions that cross between tests and program: class, arguments, text, cause, members, public attributes.

The tests' end builds them from standard classes (`stdtypes.resolve_exception`) and from classes of its own that
stand for the program's, whose other attributes are asked for over there; what it hears is never more than data.
"""

from __future__ import annotations

import builtins
from functools import lru_cache
from typing import Any

from assay.sandbox.guest.values import codec, stdtypes

_Group: Any = builtins.BaseExceptionGroup
_MAX_DEPTH = 4
_MAX_TEXT = 10_000


def encode(error: BaseException, peer: Any, depth: int = 0) -> dict[str, Any]:
    """The form of an exception; `peer` encodes values and names classes."""
    kind = type(error)
    fields = getattr(error, "__dict__", {})
    public = {key: item for key, item in fields.items() if isinstance(key, str) and not key.startswith("_")}
    form: dict[str, Any] = {
        "class": peer.name_of_class(kind),
        "names": stdtypes.exception_names(kind),
        "args": [peer.encode(item) for item in _arguments(error)],
        "attrs": {key: peer.encode(item) for key, item in public.items()},
    }
    if peer.trusting:
        form["text"] = peer.encode(_text(error))
        if kind in peer.exported:
            form["h"] = peer.keep(error)
    notes = getattr(error, "__notes__", None)
    if isinstance(notes, list) and all(type(note) is str for note in notes):
        form["notes"] = [note[:_MAX_TEXT] for note in notes[:100]]
    if depth < _MAX_DEPTH and isinstance(error, _Group):
        form["group"] = [encode(member, peer, depth + 1) for member in error.exceptions[:100]]
    if depth < _MAX_DEPTH and error.__cause__ is not None:
        form["cause"] = encode(error.__cause__, peer, depth + 1)
    return form


def _arguments(error: BaseException) -> list[Any]:
    if isinstance(error, _Group):
        return [error.message]
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return [error.errno, error.strerror, error.filename]
    return list(error.args)


def _text(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_TEXT]
    except Exception:
        return ""


def build(body: Any, peer: Any, depth: int = 0) -> BaseException:
    """The exception behind a form: an `Exception`, or `SystemExit` where that is what the program raised."""
    kind: Any = _kind(body, peer)
    arguments = peer.decode(body.get("args"))
    error = _make(kind, arguments if isinstance(arguments, list) else [], body, peer, depth)
    text = peer.decode(body.get("text"))
    if isinstance(text, str) and not peer.trusting and _text(error) != text:
        error = _make(_speaking(kind), arguments if isinstance(arguments, list) else [], body, peer, depth)
        error.__assay_text__ = text  # type: ignore[attr-defined]
    _add_attributes(error, body, peer)
    for note in body.get("notes", ()):
        error.add_note(str(note))
    if depth < _MAX_DEPTH and isinstance(body.get("cause"), dict):
        error.__cause__ = build(body["cause"], peer, depth + 1)
    return error


def _kind(body: Any, peer: Any) -> type[BaseException]:
    kind = peer.class_named(body.get("class"))
    if isinstance(kind, type) and issubclass(kind, Exception):
        return kind if peer.trusting else peer.stand_ins.raised(kind)
    names = body.get("names")
    if names and names[0] == ["builtins", "SystemExit"] and not peer.trusting:
        return SystemExit
    kind = stdtypes.resolve_exception(names)
    return kind if peer.trusting else peer.stand_ins.raised(kind)


def _make(kind: type[BaseException], arguments: list[Any], body: Any, peer: Any, depth: int) -> BaseException:
    try:
        if issubclass(kind, _Group):
            members = body.get("group") if depth < _MAX_DEPTH else ()
            return kind(str(arguments[0]), [build(member, peer, depth + 1) for member in members])
        return kind(*arguments)
    except codec.Malformed:
        raise
    except Exception:
        error = kind.__new__(kind, *(("", [Exception()]) if issubclass(kind, _Group) else ()))
        error.args = tuple(arguments)
        return error


def _add_attributes(error: BaseException, body: Any, peer: Any) -> None:
    if isinstance(body.get("h"), int) and getattr(type(error), "__assay_peer__", None) is not None:
        error.__assay_handle__ = body["h"]  # type: ignore[attr-defined]
    for name, form in body.get("attrs", {}).items():
        if isinstance(name, str) and not name.startswith("_"):
            try:
                setattr(error, name, peer.decode(form))
            except (AttributeError, TypeError):
                continue


@lru_cache(1000)
def _speaking(kind: Any) -> Any:
    """The class with a text of its own."""

    def text(self: Any) -> str:
        return str(self.__assay_text__)

    return type(kind.__name__, (kind,), {"__str__": text, "__module__": kind.__module__})


def remote_class(name: str, bases: tuple[type, ...], peer: Any) -> type:
    """A class of ours for an exception class of the program: attributes that did not come along are asked for."""

    def attribute(self: Any, wanted: str) -> Any:
        handle = self.__dict__.get("__assay_handle__")
        if handle is None or wanted.startswith("_"):
            raise AttributeError(wanted)
        return peer.ask("get", wanted, handle)

    return type(name, bases, {"__getattr__": attribute, "__assay_peer__": peer})
