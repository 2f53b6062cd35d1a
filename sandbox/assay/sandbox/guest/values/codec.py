"""Values that cross the border of a jail, as JSON text: no pickle, nothing of the candidate's classes.

`encode` flattens by the base type's own methods, so a lying subclass loses its `__eq__` and an honest
Counter, namedtuple or IntEnum passes as what it holds. `decode` builds plain values only and bounds
nesting. Both sides use this file; the trusted side never calls anything that a value brought along.

    null true false "text" [list]                     as in JSON
    {"i": hex} {"f": hex or nan, inf} {"c": [re, im]}  numbers
    {"s": hex} {"b": hex}                             text with lone surrogates, bytes
    {"u": […]} {"S": […]} {"F": […]} {"d": [[k, v]…]}  tuple, set, frozenset, dict
    {"T": […]} {"L": […]}                             TreeNode (level order), ListNode chain
    {"o": name}                                       anything else: equal to nothing
"""

from __future__ import annotations

import contextlib
import json
import sys
import types
from collections.abc import Callable
from typing import Any

json_dumps = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode
"""Bound at import, so that a program that patches the module `json` harms nobody but its own code."""
MAX_DEPTH = 400
MAX_NODES = 4_000_000
MAX_NODE_CHAIN = 100_000


class Malformed(ValueError):
    """Text that is not an encoded value."""


class TooLarge(ValueError):
    """A value beyond the bounds of the codec."""


class Opaque:
    """Stands for an object that cannot cross; equal to nothing, itself included."""

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return False


class Tree(list[Any]):
    """A TreeNode in level order, trailing nulls dropped."""


class Chain(list[Any]):
    """A chain of ListNodes."""


_EXACT = (list, dict, tuple, set, frozenset, str, int, float, bytes)


class Encoder:
    """Encodes one message; `handle` is asked first for every value of no plain type (None: as usual)."""

    def __init__(self, handle: Callable[[Any], Any] | None = None) -> None:
        self._handle = handle
        self._nodes = 0
        self._path: set[int] = set()

    def encode(self, value: Any, depth: int = 0) -> Any:
        """A JSON-able form of `value`. Raises `TooLarge`."""
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            raise TooLarge("value too large")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if self._handle is not None and kind not in _EXACT:
            form = self._handle(value)
            if form is not None:
                return form
        scalar = _encode_scalar(value, kind)
        if scalar is not None:
            return scalar
        if id(value) in self._path:
            raise TooLarge("cyclic value")
        self._path.add(id(value))
        try:
            return self._encode_container(value, kind, depth + 1)
        finally:
            self._path.discard(id(value))

    def _encode_container(self, value: Any, kind: type, depth: int) -> Any:
        bases = kind.__mro__
        if kind is list and all_plain(value):
            self._nodes += len(value)
            if self._nodes > MAX_NODES:
                raise TooLarge("value too large")
            return list(value)
        if list in bases:
            items = [self.encode(item, depth) for item in list.__iter__(value)]
            if kind in (Tree, Chain):
                return {"T" if kind is Tree else "L": items}
            return items
        if tuple in bases:
            return {"u": [self.encode(item, depth) for item in tuple.__iter__(value)]}
        if dict in bases:
            pairs = dict.items(value)
            return {"d": [[self.encode(key, depth), self.encode(item, depth)] for key, item in pairs]}
        if set in bases:
            return {"S": [self.encode(item, depth) for item in set.__iter__(value)]}
        if frozenset in bases:
            return {"F": [self.encode(item, depth) for item in frozenset.__iter__(value)]}
        plain = _plain_of_numpy(value, kind)
        if plain is not None:
            return self.encode(plain, depth)
        return self._encode_object(value, kind, depth)

    def _encode_object(self, value: Any, kind: type, depth: int) -> Any:
        name = type.__dict__["__name__"].__get__(kind)
        if name == "TreeNode":
            return {"T": [self.encode(item, depth) for item in flatten_tree(value)]}
        if name == "ListNode":
            return {"L": [self.encode(item, depth) for item in flatten_chain(value)]}
        return {"o": str.__str__(name)[:100]}


def _plain_of_numpy(value: Any, kind: Any) -> Any:
    """Return the number, text or lists that a scalar or array of numpy holds; None for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not (kind is numpy.ndarray or numpy.generic in kind.__mro__):
        return None
    plain = kind.tolist(value)
    return plain if type(plain).__module__ == "builtins" else None


_ASIS = frozenset({int, bool, type(None)})


def all_plain(items: list[Any]) -> bool:
    """Return whether the members of a list are their own forms, which spares a look at each."""
    kinds = set(map(type, items))
    if kinds == {str}:
        return all(map(str.isascii, items))
    if not kinds <= _ASIS:
        return False
    return int not in kinds or _are_small([item for item in items if type(item) is int])


def _are_small(numbers: list[int]) -> bool:
    return min(numbers) > -(1 << 53) and max(numbers) < 1 << 53


def _encode_scalar(value: Any, kind: type) -> Any:
    """The form of a number, text or bytes; None for anything else."""
    bases = kind.__mro__
    if int in bases:
        plain = int.__add__(value, 0)
        return plain if -(1 << 53) < plain < 1 << 53 else {"i": hex(plain)}
    if float in bases:
        return {"f": float.hex(float.__pos__(value))}
    if str in bases:
        text = str.__add__(value, "")
        if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
            return text
        return {"s": text.encode("utf-8", "surrogatepass").hex()}
    if bytes in bases:
        return {"b": bytes.hex(value)}
    if bytearray in bases:
        return {"b": bytearray.hex(value)}
    if complex in bases:
        plain_complex = complex.__pos__(value)
        return {"c": [plain_complex.real.hex(), plain_complex.imag.hex()]}
    return None


def _fields(node: Any) -> dict[str, Any]:
    """Instance fields of a node without running its class's code (slots included)."""
    found = {}
    for base in type(node).__mro__:
        for name, member in base.__dict__.items():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    found[name] = member.__get__(node)
                except AttributeError:
                    continue
    with contextlib.suppress(AttributeError):
        found.update(object.__getattribute__(node, "__dict__"))
    return found


def flatten_tree(root: Any) -> list[Any]:
    """Level order of a tree of nodes with `val`, `left`, `right`. Raises `TooLarge`."""
    out: list[Any] = []
    queue, seen = [root], set()
    while queue:
        following = []
        for node in queue:
            if node is None:
                out.append(None)
                continue
            if id(node) in seen or len(out) > MAX_NODE_CHAIN:
                raise TooLarge("cyclic or huge tree")
            seen.add(id(node))
            fields = _fields(node)
            out.append(fields.get("val"))
            following += [fields.get("left"), fields.get("right")]
        queue = following
    while out and out[-1] is None:
        out.pop()
    return out


def flatten_chain(node: Any) -> list[Any]:
    """Values along a chain of nodes with `val` and `next`. Raises `TooLarge`."""
    out: list[Any] = []
    while node is not None:
        if len(out) > MAX_NODE_CHAIN:
            raise TooLarge("cyclic or huge chain")
        fields = _fields(node)
        out.append(fields.get("val"))
        node = fields.get("next")
    return out


def dumps(value: Any, handle: Callable[[Any], Any] | None = None) -> bytes:
    """`value` as one line of text. Raises `TooLarge`."""
    return json_dumps(Encoder(handle).encode(value)).encode()


def loads(text: bytes, resolve: Callable[[str, Any], Any] | None = None) -> Any:
    """The value behind `text`. `resolve(tag, body)` builds what is unknown here. Raises `Malformed`."""
    return decode(parse(text), resolve)


def parse(text: bytes) -> Any:
    """JSON text from a jail: no NaN, no long decimal integers, no deep nesting. Raises `Malformed`."""
    try:
        return _DECODER.decode(text.decode())
    except (ValueError, RecursionError) as error:
        raise Malformed("not an encoded value") from error


def _small_int(digits: str) -> int:
    if len(digits) > 17:
        raise Malformed("long integer")
    return int(digits)


def _no_float(text: str) -> float:
    raise Malformed("bare float")


def _no_constant(text: str) -> float:
    raise Malformed("not JSON")


class Members(list[Any]):
    """The members of a set as they came, perhaps doubled: what hashes them may be made slow by them."""


class Pairs(list[Any]):
    """The items of a dict as they came."""


def decode_unhashed(form: Any, depth: int = 0) -> Any:
    """As `decode` where nothing may be looked up by what came: `Members` for sets, `Pairs` for dicts.

    Integers and tuples that share one hash make a set of them cost its square. Raises `Malformed`.
    """
    if isinstance(form, dict) and len(form) == 1:
        ((tag, body),) = form.items()
        if tag in ("S", "F", "d") and isinstance(body, list) and depth <= MAX_DEPTH:
            items = [decode_unhashed(item, depth + 1) for item in body]
            if tag != "d":
                return Members(items)
            if not all(isinstance(item, list) and len(item) == 2 for item in items):
                raise Malformed("not a dict")
            return Pairs(items)
        if tag in ("u", "T", "L") and isinstance(body, list) and depth <= MAX_DEPTH:
            return _decode_container(tag, [decode_unhashed(item, depth + 1) for item in body])
    if isinstance(form, list) and depth <= MAX_DEPTH and not _PLAIN_FORMS.issuperset(map(type, form)):
        return [decode_unhashed(item, depth + 1) for item in form]
    return decode(form, None, depth)


def decode(form: Any, resolve: Callable[[str, Any], Any] | None = None, depth: int = 0) -> Any:
    """The plain value of a parsed form. Raises `Malformed`."""
    if depth > MAX_DEPTH + 1:
        raise Malformed("too deep")
    if form is None or isinstance(form, (bool, int, str)):
        return form
    if isinstance(form, list):
        if _PLAIN_FORMS.issuperset(map(type, form)):
            return list(form)
        return [decode(item, resolve, depth + 1) for item in form]
    if not isinstance(form, dict) or len(form) != 1:
        raise Malformed("not an encoded value")
    ((tag, body),) = form.items()
    return _decode_tagged(tag, body, resolve, depth + 1)


def _decode_tagged(tag: str, body: Any, resolve: Callable[[str, Any], Any] | None, depth: int) -> Any:
    if tag in _SCALARS:
        if not isinstance(body, str):
            raise Malformed("not an encoded value")
        try:
            return _SCALARS[tag](body)
        except (ValueError, OverflowError) as error:
            raise Malformed("not an encoded value") from error
    if tag == "c" and isinstance(body, list) and len(body) == 2:
        return complex(*(_decode_tagged("f", part, None, depth) for part in body))
    if tag in ("u", "S", "F", "d", "T", "L"):
        if not isinstance(body, list):
            raise Malformed("not an encoded value")
        return _decode_container(tag, [decode(item, resolve, depth) for item in body])
    if resolve is not None:
        return resolve(tag, body)
    raise Malformed("unknown tag")


def _decode_container(tag: str, items: list[Any]) -> Any:
    try:
        if tag == "d":
            return {key: item for key, item in items}
        build: Callable[[list[Any]], Any] = {"u": tuple, "S": set, "F": frozenset, "T": Tree, "L": Chain}[tag]
        return build(items)
    except (TypeError, ValueError) as error:  # an unhashable member, or a pair that is none
        raise Malformed("not an encoded value") from error


_DECODER = json.JSONDecoder(parse_int=_small_int, parse_float=_no_float, parse_constant=_no_constant)
_PLAIN_FORMS = frozenset({int, bool, type(None), str})
_SCALARS: dict[str, Callable[[str], Any]] = {
    "i": lambda text: int(text, 16),
    "f": float.fromhex,
    "s": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "b": bytes.fromhex,
    "o": Opaque,
}
