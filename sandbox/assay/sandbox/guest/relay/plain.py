"""Instances of the program's subclasses of plain types (`class Stack(list)`, `class Slug(str)`, an IntEnum).

The tests hold an instance of a real subclass of the same plain type with the same content, so that `isinstance`,
`join`, comparison and arithmetic are done here and by content. What the program's classes define themselves is asked
for over there, but for the comparisons and arithmetic with plain values, which would tell them what the tests expect.
Mutable ones are mirrored (`mirror`): what their own methods change over there and their inherited ones here is seen
at both ends.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from assay.sandbox.guest.relay.proxies import Remote, RemoteType

_BASES: tuple[type, ...] = (str, bytes, bool, int, float, complex, tuple, frozenset, list, dict, set)
_BY_NAME = {base.__name__: base for base in _BASES}
MUTABLE = (list, dict, set)
_NAMES = """
__new__ __init__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __contains__ __class__ __dict__ __weakref__
__slots__ __module__ __doc__ __init_subclass__ __subclasshook__ __getattribute__ __getattr__ __setattr__ __delattr__
__del__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __sizeof__ __class_getitem__ __annotations__
__getnewargs__ __match_args__ __orig_bases__ __firstlineno__ __static_attributes__ __qualname__ __name__
__parameters__ __dir__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__
__rfloordiv__ __mod__ __rmod__ __divmod__ __rdivmod__ __pow__ __rpow__ __and__ __rand__ __or__ __ror__ __xor__
__rxor__ __iadd__ __imul__ __isub__ __ior__ __iand__ __ixor__ __abs__ __round__ __neg__ __pos__ __int__ __float__
__index__ __complex__ __trunc__
"""
_KEPT_HERE = frozenset(_NAMES.split())
"""Names that the tests' end never asks the program for."""


@cache
def base_of(kind: Any) -> Any:
    """Return the plain type that a class is a subclass of, or None."""
    if kind in _BASES:
        return None
    return next((base for base in _BASES if base in kind.__mro__), None)


def own_names(kind: type, base: type) -> list[str]:
    """Return the names that the class and its bases below the plain type define themselves."""
    found: dict[str, None] = {}
    for each in kind.__mro__:
        if each is base:
            break
        found.update(dict.fromkeys(name for name in vars(each) if name not in _KEPT_HERE))
    return list(found)


def content_of(value: Any, base: Any) -> list[Any]:
    """Return the content as plain values, by the plain type's own methods."""
    if base is dict:
        return [tuple(pair) for pair in dict.items(value)]
    if base in (list, tuple, set, frozenset):
        return list(base.__iter__(value))
    if base in (int, bool):
        return [int.__add__(value, 0)]
    return [base.__add__(value, base())]


class RemoteValue(Remote):
    """An instance of a subclass of a plain type whose class is the program's."""

    _handle = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._peer.ask("get", name, self._handle)

    def __setattr__(self, name: str, value: Any) -> None:
        self._peer.ask("set", name, self._handle, (value,))

    def __delattr__(self, name: str) -> None:
        self._peer.ask("del", name, self._handle)


class _Attribute:
    """An attribute that the program's class defines: asked of the class or of the instance."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        holder = owner if instance is None else instance
        return holder._peer.ask("get", self._name, holder._handle)

    def __set__(self, instance: Any, value: Any) -> None:
        instance._peer.ask("set", self._name, instance._handle, (value,))


def _special(name: str) -> Any:
    def method(self: RemoteValue, *args: Any, **keywords: Any) -> Any:
        return self._peer.ask("get", name, self._handle)(*args, **keywords)

    return method


def class_of(name: str, base: Any, own: list[str], parents: tuple[type, ...], body: dict[str, Any]) -> Any:
    """Return the class of the tests' end for a class of the program. Raises `KeyError` or `TypeError`."""
    members = {str(each): _special(each) if str(each).startswith("__") else _Attribute(str(each)) for each in own}
    members.pop("_peer", None)
    members.pop("_handle", None)
    bases = parents or (RemoteValue, _BY_NAME[base] if base != "bool" else int)
    return RemoteType(str(name), bases, {**members, **body})


@cache
def _anonymous(name: str, base: str, own: tuple[str, ...]) -> Any:
    return class_of(name, base, list(own), (), {"_peer": None, "_handle": 0})


def make(base: Any, content: list[Any], own: Any, name: Any, known: Any) -> Any:
    """Return an instance with that content, of the `known` class or one made for it. Raises `TypeError`."""
    plain: Any = _BY_NAME[base]
    kind = known if isinstance(known, type) and issubclass(known, plain) else _anonymous(str(name), base, tuple(own))
    if plain in MUTABLE:
        made = plain.__new__(kind)
        plain.__init__(made, content)
        return made
    if plain in (tuple, frozenset):
        return plain.__new__(kind, content)
    (value,) = content
    if type(value) is not plain:
        raise TypeError("content of another type")
    return plain.__new__(kind, value)
