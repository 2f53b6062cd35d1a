"""The mirror: mutable containers that both ends of a relay hold, known to each by one number.

A container gets a number when it first crosses; the other end makes one of its own for it. From then on it crosses
as its number, so that aliases and cycles stay what they are, and each message carries what has changed in the
sender's containers since the last one. A number is forgotten as soon as one end holds the container no longer:
nobody there could tell a new one from the old. Ends take turns, so a message never crosses another.

    {"m": n}                               a container, by number (negative: numbered by the program's end)
    "new": [[n, kind, head, content], …]   containers that cross for the first time
    "edits": [[n, edits], …]               changes since the last message
    "gone": [n, …]                         numbers that the sender has forgotten

The other end can change only what has crossed: any other number is unknown here.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay.sandbox.guest.relay import containers, tensors
from assay.sandbox.guest.relay.containers import Kind
from assay.sandbox.guest.values import codec

_KINDS: dict[str, Kind] = {**containers.KINDS, **tensors.KINDS}
_MAX_ENTRIES = 200_000
_FIRST_COLLECTION = 512
_CHANGING: Any = object()
"""The snapshot of a container while edits are applied to it: code that runs meanwhile sees no change in it."""


class _Entry:
    """One container that both ends hold."""

    __slots__ = ("kind", "known", "number", "value")

    def __init__(self, number: int, value: Any, kind: Kind) -> None:
        self.number, self.value, self.kind = number, value, kind
        self.known: Any = _CHANGING


def _references(entry: _Entry) -> int:
    return sys.getrefcount(entry.value)


_UNHELD = _references(_Entry(0, [], _KINDS["list"]))
"""What `_references` says of a container that only its entry holds."""


def name_of(value: Any) -> str | None:
    """Return the name of the kind of a container that crosses by number, or None."""
    return containers.NAME_OF.get(type(value)) or tensors.name_of(value)


class Mirror:
    """The containers that both ends hold. `sign` tells the numbers that this end gives from the other's."""

    def __init__(self, encode: Callable[[Any], Any], decode: Callable[[Any], Any], *, sign: int) -> None:
        self._encode, self._decode, self._sign = encode, decode, sign
        self._entries: dict[int, _Entry] = {}
        self._by_identity: dict[int, _Entry] = {}
        self._count = 0
        self._new: list[_Entry] = []
        """Containers of the message that is being composed, which define them."""
        self._adopted: list[_Entry] = []
        """Containers of that message that it defines in another form."""
        self._undo: list[tuple[_Entry, Any]] = []
        """Snapshots that the message being composed has replaced."""
        self._forgotten: list[int] = []
        self._collect_at = _FIRST_COLLECTION

    # -- sending ----------------------------------------

    def form_of(self, value: Any, name: str) -> Any:
        """Return the form of a container of that kind."""
        entry = self._by_identity.get(id(value))
        if entry is None:
            kind = _KINDS[name]
            for base in kind.bases(value):
                self.form_of(base, "ndarray")
            entry = self._new_entry(value, kind)
            self._new.append(entry)
        return {"m": entry.number}

    def adopt(self, value: Any, name: str) -> int:
        """Return the number of a container that crosses in a form of its own, which the receiver gives to `accept`."""
        entry = self._by_identity.get(id(value))
        if entry is None:
            entry = self._new_entry(value, _KINDS[name])
            entry.known = entry.kind.snapshot(value)
            self._adopted.append(entry)
        return entry.number

    def knows(self, value: Any) -> bool:
        """Return whether a container has a number."""
        return id(value) in self._by_identity

    def _new_entry(self, value: Any, kind: Kind) -> _Entry:
        if len(self._entries) >= _MAX_ENTRIES:
            raise codec.TooLarge("too many containers")
        self._count += 1
        return self._register(_Entry(self._sign * self._count, value, kind))

    def _register(self, entry: _Entry) -> _Entry:
        self._entries[entry.number] = self._by_identity[id(entry.value)] = entry
        return entry

    @contextmanager
    def composing(self) -> Iterator[None]:
        """Compose one message; if that fails, all is as if nothing had been encoded."""
        self._new, self._adopted, self._undo = [], [], []
        try:
            yield
        except BaseException:
            for entry, known in self._undo:
                entry.known = known
            for entry in (*self._new, *self._adopted):
                self._remove(entry)
            raise
        finally:
            self._new, self._adopted, self._undo = [], [], []
        self._forgotten = []

    def edits(self) -> list[Any]:
        """Return the forms of all changes since the last message, and forget what this end holds no longer."""
        found = []
        for entry in list(self._entries.values()):
            known = entry.known
            if known is _CHANGING or entry.kind.same(entry.value, known):
                continue
            found.append([entry.number, entry.kind.edits(entry.value, known, self._encode)])
            self._undo.append((entry, known))
            entry.known = entry.kind.snapshot(entry.value)
        self._forget_unheld()
        return found

    def definitions(self) -> list[Any]:
        """Return the forms of all containers that the message names first; called when all else is encoded."""
        found = []
        for entry in self._new:  # which grows while contents are encoded
            kind, value = entry.kind, entry.value
            name = next(name for name, each in _KINDS.items() if each is kind)
            found.append([entry.number, name, kind.head(value, self._encode), kind.content(value, self._encode)])
            entry.known = kind.snapshot(value)
        return found

    def forgotten(self) -> list[int]:
        """Return the numbers that this end has dropped since the last message."""
        return self._forgotten

    # -- receiving ----------------------------------------

    def take(self, message: Any) -> None:
        """Take over definitions, edits and dropped numbers. Raises `ValueError` or `TypeError` if malformed."""
        made = [(self._make(*definition), definition[3]) for definition in message.get("new", ())]
        for entry, content in made:
            entry.kind.fill(entry.value, content, self._decode)
        for number, edits in message.get("edits", ()):
            entry = self._entries[number]
            entry.known = _CHANGING
            entry.kind.apply(entry.value, edits, self._decode)
            entry.known = entry.kind.snapshot(entry.value)
        for entry, _ in made:
            entry.known = entry.kind.snapshot(entry.value)
        for number in message.get("gone", ()):
            if number in self._entries:
                self._remove(self._entries[number])

    def _make(self, number: Any, name: Any, head: Any, _: Any) -> _Entry:
        if type(number) is not int or number * self._sign >= 0 or number in self._entries:
            raise ValueError("not a number that the other end may give")
        if len(self._entries) >= _MAX_ENTRIES:
            raise ValueError("too many containers")
        kind = _KINDS[name]
        return self._register(_Entry(number, kind.empty(self._decode(head)), kind))

    def accept(self, number: Any, value: Any, name: str) -> None:
        """Register a container that the other end has adopted. Raises `ValueError`."""
        if type(number) is not int or number * self._sign >= 0 or number in self._entries:
            raise ValueError("not a number that the other end may give")
        entry = self._register(_Entry(number, value, _KINDS[name]))
        entry.known = entry.kind.snapshot(value)

    def value_of(self, number: Any) -> Any:
        """Return the container of that number. Raises `KeyError`."""
        return self._entries[number].value

    # -- forgetting ----------------------------------------

    def _remove(self, entry: _Entry) -> None:
        del self._entries[entry.number]
        del self._by_identity[id(entry.value)]

    def _drop(self, entry: _Entry) -> None:
        self._remove(entry)
        self._forgotten.append(entry.number)

    def _forget_unheld(self) -> None:
        for entry in list(self._entries.values()):
            if _references(entry) == _UNHELD:
                self._drop(entry)
        if len(self._entries) > self._collect_at:
            self._forget_unreachable()
            self._collect_at = max(_FIRST_COLLECTION, 2 * len(self._entries))

    def _forget_unreachable(self) -> None:
        """Drop containers that only each other and their snapshots refer to, as in a cycle."""
        outside = {place: _references(entry) - _UNHELD for place, entry in self._by_identity.items()}
        for entry in self._by_identity.values():
            for child in (*_members(entry.value), *_members(entry.known)):
                if id(child) in outside:
                    outside[id(child)] -= 1
        held = [place for place, count in outside.items() if count > 0]
        seen = set(held)
        while held:
            for child in gc.get_referents(self._by_identity[held.pop()].value):
                if id(child) in outside and id(child) not in seen:
                    seen.add(id(child))
                    held.append(id(child))
        for place, entry in list(self._by_identity.items()):
            if place not in seen:
                self._drop(entry)


def _members(container: Any) -> list[Any]:
    """Return what a container or snapshot refers to, lists inside a snapshot included."""
    found = gc.get_referents(container)
    if type(container) is tuple:
        found = [member for each in found for member in gc.get_referents(each)]
    return found
