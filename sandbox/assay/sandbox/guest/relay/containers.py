"""Mutable containers as the relay mirrors them: content, snapshot, edits since a snapshot, and how to apply them.

Each kind works on instances of subclasses too, by the methods of the plain type, so that no code of the program
runs. Edits are as small as they can be without a search (common prefix and suffix, changed keys, members gone and
new), so that an iterator over the container goes on as if the change had been made in one process.
Members are compared by identity: they are immutable, or are mirrored themselves.
"""

from __future__ import annotations

import array
import collections
from collections.abc import Callable
from operator import is_
from typing import Any

from assay.sandbox.guest.values import codec

Encode = Callable[[Any], Any]
Decode = Callable[[Any], Any]


class Kind:
    """One kind of container. `head` is what an empty one is made with, besides its content."""

    plain: Any
    """The plain type, whose methods are used."""

    def bases(self, value: Any) -> tuple[Any, ...]:
        """Return other containers that must be made before this one."""
        return ()

    def head(self, value: Any, encode: Encode) -> Any:
        """Return the form of what `empty` needs."""
        return None

    def empty(self, head: Any) -> Any:
        """Return a new, empty container."""
        return self.plain()

    def content(self, value: Any, encode: Encode) -> Any:
        """Return the form of the whole content."""
        raise NotImplementedError

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """Put the content into a new container."""
        raise NotImplementedError

    def snapshot(self, value: Any) -> Any:
        """Return what `same` and `edits` compare with later. It may hold references to the members."""
        raise NotImplementedError

    def same(self, value: Any, known: Any) -> bool:
        """Return whether nothing has changed since the snapshot."""
        raise NotImplementedError

    def edits(self, value: Any, known: Any, encode: Encode) -> Any:
        """Return the form of the change since the snapshot."""
        raise NotImplementedError

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """Make the change. Raises `TypeError`, `ValueError` or `IndexError` if it is malformed."""
        raise NotImplementedError


def _items(items: list[Any], encode: Encode) -> list[Any]:
    """Return the forms of items; a list of plain ones is its own form."""
    return items if codec.all_plain(items) else [encode(item) for item in items]


def _decoded(forms: Any, decode: Decode) -> list[Any]:
    if not isinstance(forms, list):
        raise TypeError("not a list of forms")
    return [decode(form) for form in forms]


def _splice(old: Any, new: Any) -> tuple[int, int, int]:
    """Return the start of the changed part, and its end in `old` and in `new`."""
    shorter = min(len(old), len(new))
    start = next((place for place in range(shorter) if old[place] is not new[place]), shorter)
    end = next((n for n in range(shorter - start) if old[-1 - n] is not new[-1 - n]), shorter - start)
    return start, len(old) - end, len(new) - end


class Lists(Kind):
    """`list`."""

    plain: Any = list

    def content(self, value: Any, encode: Encode) -> Any:
        """See `Kind`."""
        return _items(list(self.plain.__iter__(value)), encode)

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """See `Kind`."""
        self.plain.extend(value, _decoded(content, decode))

    def snapshot(self, value: Any) -> Any:
        """See `Kind`."""
        return list(self.plain.__iter__(value))

    def same(self, value: Any, known: Any) -> bool:
        """See `Kind`."""
        return self.plain.__len__(value) == len(known) and all(map(is_, self.plain.__iter__(value), known))

    def edits(self, value: Any, known: Any, encode: Encode) -> Any:
        """[start, end, the items that replace what was there]."""
        now = list(self.plain.__iter__(value))
        start, old_end, new_end = _splice(known, now)
        return [start, old_end, _items(now[start:new_end], encode)]

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """See `Kind`."""
        start, end, items = edits
        list.__setitem__(value, slice(start, end), _decoded(items, decode))


class Deques(Lists):
    """`collections.deque`."""

    plain = collections.deque

    def head(self, value: Any, encode: Encode) -> Any:
        """`maxlen`."""
        return value.maxlen

    def empty(self, head: Any) -> Any:
        """See `Kind`."""
        return collections.deque(maxlen=head)

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """See `Kind`."""
        start, end, items = edits
        now = list(value)
        now[start:end] = _decoded(items, decode)
        value.clear()
        value.extend(now)


class Dicts(Kind):
    """`dict`."""

    plain: Any = dict

    def content(self, value: Any, encode: Encode) -> Any:
        """[[key, value], …]."""
        return [[encode(key), encode(item)] for key, item in list(dict.items(value))]

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """See `Kind`."""
        for key, item in content:
            self.plain.__setitem__(value, decode(key), decode(item))

    def snapshot(self, value: Any) -> Any:
        """Keys and values in their order."""
        return list(dict.keys(value)), list(dict.values(value))

    def same(self, value: Any, known: Any) -> bool:
        """See `Kind`."""
        keys, items = known
        return (
            dict.__len__(value) == len(keys)
            and all(map(is_, dict.values(value), items))
            and all(map(is_, dict.keys(value), keys))
        )

    def edits(self, value: Any, known: Any, encode: Encode) -> Any:
        """[places of keys that go, [[key, value], …] that are set in that order].

        A key that moved (deleted and set again) goes and is set, with all that come after it.
        """
        keys, items = known
        now = list(dict.items(value))
        places = {id(key): place for place, key in enumerate(keys)}
        kept, last = set(), -1
        for key, _ in now:
            place = places.get(id(key), -1)
            if place <= last:
                break  # new or moved: from here on all are set anew
            kept.add(place)
            last = place
        gone = [place for place in range(len(keys)) if place not in kept]
        fresh = [
            [encode(key), encode(item)]
            for index, (key, item) in enumerate(now)
            if index >= len(kept) or item is not items[places[id(key)]]
        ]
        return [gone, fresh]

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """See `Kind`."""
        gone, fresh = edits
        keys = list(dict.keys(value))
        for place in gone:
            self.plain.__delitem__(value, keys[place])
        self.fill(value, fresh, decode)


class OrderedDicts(Dicts):
    """`collections.OrderedDict`."""

    plain = collections.OrderedDict


class Counters(Dicts):
    """`collections.Counter`."""

    plain = collections.Counter


class DefaultDicts(Dicts):
    """`collections.defaultdict`."""

    plain = collections.defaultdict

    def head(self, value: Any, encode: Encode) -> Any:
        """The factory."""
        return encode(value.default_factory)

    def empty(self, head: Any) -> Any:
        """See `Kind`."""
        return collections.defaultdict(head)


class Sets(Kind):
    """`set`."""

    plain: Any = set

    def content(self, value: Any, encode: Encode) -> Any:
        """See `Kind`."""
        return _items(list(set.__iter__(value)), encode)

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """See `Kind`."""
        set.update(value, _decoded(content, decode))

    def snapshot(self, value: Any) -> Any:
        """Members by identity."""
        return {id(item): item for item in set.__iter__(value)}

    def same(self, value: Any, known: Any) -> bool:
        """See `Kind`."""
        return set.__len__(value) == len(known) and all(id(item) in known for item in set.__iter__(value))

    def edits(self, value: Any, known: Any, encode: Encode) -> Any:
        """[members that go, members that come]."""
        now = self.snapshot(value)
        gone = [encode(item) for place, item in known.items() if place not in now]
        return [gone, [encode(item) for place, item in now.items() if place not in known]]

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """See `Kind`."""
        gone, fresh = edits
        set.difference_update(value, _decoded(gone, decode))
        set.update(value, _decoded(fresh, decode))


class Bytes(Kind):
    """`bytearray`."""

    plain: Any = bytearray

    def content(self, value: Any, encode: Encode) -> Any:
        """Hexadecimal."""
        return bytes(value).hex()

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """See `Kind`."""
        bytearray.extend(value, bytes.fromhex(content))

    def snapshot(self, value: Any) -> Any:
        """See `Kind`."""
        return bytes(value)

    def same(self, value: Any, known: Any) -> bool:
        """See `Kind`."""
        return bool(value == known)

    def edits(self, value: Any, known: Any, encode: Encode) -> Any:
        """[start, end, the bytes that replace what was there]; bytes are small integers, each one object."""
        now = bytes(value)
        start, old_end, new_end = _splice(known, now)
        return [start, old_end, now[start:new_end].hex()]

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """See `Kind`."""
        start, end, content = edits
        bytearray.__setitem__(value, slice(start, end), bytes.fromhex(content))


class Arrays(Kind):
    """`array.array`: the whole content at each change."""

    plain: Any = array.array

    def head(self, value: Any, encode: Encode) -> Any:
        """The type code."""
        return value.typecode

    def empty(self, head: Any) -> Any:
        """See `Kind`."""
        return array.array(head)

    def content(self, value: Any, encode: Encode) -> Any:
        """Hexadecimal."""
        return value.tobytes().hex()

    def fill(self, value: Any, content: Any, decode: Decode) -> None:
        """See `Kind`."""
        del value[:]
        value.frombytes(bytes.fromhex(content))

    def snapshot(self, value: Any) -> Any:
        """See `Kind`."""
        return value.tobytes()

    def same(self, value: Any, known: Any) -> bool:
        """See `Kind`."""
        return bool(value.tobytes() == known)

    def edits(self, value: Any, known: Any, encode: Encode) -> Any:
        """See `Kind`."""
        return self.content(value, encode)

    def apply(self, value: Any, edits: Any, decode: Decode) -> None:
        """See `Kind`."""
        self.fill(value, edits, decode)


KINDS: dict[str, Kind] = {
    "list": Lists(),
    "dict": Dicts(),
    "set": Sets(),
    "bytearray": Bytes(),
    "deque": Deques(),
    "ordered": OrderedDicts(),
    "counter": Counters(),
    "default": DefaultDicts(),
    "array": Arrays(),
}
"""Kinds by the name that a message gives them."""
NAME_OF: dict[type, str] = {kind.plain: name for name, kind in KINDS.items()}
"""Names of the kinds by exact type."""
