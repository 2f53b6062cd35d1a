"""Proxies: what one end of a relay holds for functions, classes and objects of the other end.

Every use of a proxy is a request to the other end (see `relay`). Operators that would hand an expectation
to an object (comparisons, arithmetic, `in`) exist on `RemoteObject` alone, whose class the tests name.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.sandbox.guest.relay import Peer


def unsupported(*_: Any) -> Any:
    """What an operation that does not exist does."""
    raise TypeError("unsupported operation")


def _reflected(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda mine, other: operation(other, mine)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "len": len, "bool": bool, "str": str, "repr": repr, "hash": hash, "int": int, "float": float,
    "complex": complex, "abs": abs, "round": round, "iter": iter, "next": next, "reversed": reversed,
    "format": format, "call": lambda target, *args, **keywords: target(*args, **keywords),
    "dir": dir, "bytes": bytes, "divmod": divmod, "rdivmod": lambda a, b: divmod(b, a),
    "enter": lambda target: type(target).__enter__(target),
    "exit": lambda target, error: type(target).__exit__(target, error and type(error), error, None),
    "contains": operator.contains, "getitem": operator.getitem, "setitem": operator.setitem,
    "delitem": operator.delitem, "index": operator.index,
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: getattr(operator, name) for name in ("neg", "pos", "invert")},
}  # fmt: skip
_BINARY = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
)
for _name in _BINARY:
    OPERATIONS[_name] = getattr(operator, _name)
    OPERATIONS["r" + _name] = _reflected(getattr(operator, _name))
    OPERATIONS["i" + _name] = getattr(operator, "i" + _name.rstrip("_"))
_HERE = ("eq", "ne", "hash", "dir", "call", "repr", "next", "bytes", "exit", "contains", "lt", "le", "gt", "ge")
_FORWARDED = tuple(name for name in OPERATIONS if name not in _HERE)
_MEASURES = frozenset({"abs", "round", "int", "float", "complex", "index", "bool"})
METADATA = ("__name__", "__qualname__", "__doc__")
"""What a function says of itself; each end tells the other."""
_HARMLESS = (
    "len",
    "bool",
    "str",
    "iter",
    "getitem",
    "setitem",
    "delitem",
    "enter",
    "reversed",
    "format",
)
"""Operators that tell the object nothing of what the tests expect."""


class Remote:
    """What every proxy is: which peer, which handle."""

    _peer: Peer
    _handle: int

    def __repr__(self) -> str:
        return f"<remote {type(self).__name__}>"


class RemoteFunction(Remote):
    """A function of the other end."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in METADATA:
            raise AttributeError(name)
        return self._peer.ask({"q": "get", "h": self._handle, "n": name})

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it over there."""
        return self._peer.operate("call", self._handle, args, keywords)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)


setattr(RemoteFunction, "__doc__", property(lambda self: self.__getattr__("__doc__")))  # noqa: B010


class RemoteIterator(Remote):
    """An iterator or generator of the other end."""

    def __iter__(self) -> RemoteIterator:
        return self

    def __next__(self) -> Any:
        return self._peer.operate("next", self._handle)

    def close(self) -> None:
        """End the generator."""
        self._peer.ask({"q": "get", "h": self._handle, "n": "close"})()

    def send(self, value: Any) -> Any:
        """Send a value into the generator."""
        return self._peer.ask({"q": "get", "h": self._handle, "n": "send"})(value)


class RemoteOpaque(Remote):
    """An object of the other end that has no meaning here; true or false as it says."""

    def __bool__(self) -> bool:
        return self._peer.operate("bool", self._handle) is True


class RemoteThing(Remote):
    """An object of a class that the tests do not name."""

    def __getattr__(self, name: str) -> Any:
        return self._peer.ask({"q": "get", "h": self._handle, "n": name})

    def __setattr__(self, name: str, value: Any) -> None:
        self._peer.ask({"q": "set", "h": self._handle, "n": name, "v": self._peer.encode(value)})

    def __delattr__(self, name: str) -> None:
        self._peer.ask({"q": "del", "h": self._handle, "n": name})

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, RemoteThing):
            return False
        for side in (self, other):
            side._peer.check_honest(side._handle)
        return self._peer.operate("eq", self._handle, (other,)) is True

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, RemoteThing):
            return True
        return self._peer.operate("ne", self._handle, (other,)) is True

    def __hash__(self) -> int:
        return int(self._peer.operate("hash", self._handle))

    def __repr__(self) -> str:
        return str(self._peer.operate("repr", self._handle))

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it over there."""
        return self._peer.operate("call", self._handle, args, keywords)

    def __next__(self) -> Any:
        return self._peer.operate("next", self._handle)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return self._peer.operate("exit", self._handle, (error,)) is True


class RemoteObject(RemoteThing):
    """An instance of a class of the other end that this end asked for: operators work.

    None decides how far the object is from a number that the tests expect: objects are ordered among
    themselves, and what is left after subtracting a number has no size.
    """

    __hash__ = RemoteThing.__hash__
    _difference = False

    def __contains__(self, item: Any) -> bool:
        self._peer.check_denies("contains", self._handle)
        return self._peer.operate("contains", self._handle, (item,)) is True


def _forward(name: str) -> Any:
    def method(self: RemoteThing, *args: Any) -> Any:
        if name in _MEASURES and getattr(type(self), "_difference", None) is not None and _is_difference(self):
            return unsupported()
        result = self._peer.operate(name, self._handle, args)
        apart = name in ("sub", "rsub", "isub") and not isinstance(args[0], Remote)
        if isinstance(result, RemoteObject) and (apart or _is_difference(self)):
            object.__setattr__(result, "_difference", True)
        elif apart and not isinstance(result, Remote):
            return unsupported()
        return result

    return method


def _is_difference(proxy: Any) -> bool:
    return isinstance(proxy, RemoteObject) and object.__getattribute__(proxy, "_difference") is True


def _order(name: str) -> Any:
    def method(self: RemoteObject, other: Any) -> Any:
        if not isinstance(other, RemoteObject):
            return NotImplemented
        return self._peer.operate(name, self._handle, (other,)) is True

    return method


for _name in ("lt", "le", "gt", "ge"):
    setattr(RemoteObject, f"__{_name}__", _order(_name))


for _name in _FORWARDED:
    _owner = RemoteThing if _name in _HARMLESS else RemoteObject
    setattr(_owner, f"__{_name.rstrip('_')}__", _forward(_name))


class RemoteType(type):
    """Metaclass of the proxies of exported classes: making and class attributes happen over there."""

    _peer: Peer
    _handle: int

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        """Make an instance over there."""
        return cls._peer.operate("call", cls._handle, args, keywords)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls._peer.ask({"q": "get", "h": cls._handle, "n": name})

    def __iter__(cls) -> Iterator[Any]:
        return cls._peer.operate("iter", cls._handle)  # type: ignore[no-any-return]

    def __len__(cls) -> int:
        return int(cls._peer.operate("len", cls._handle))

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return cls._peer.operate("getitem", cls._handle, (key,))

    def __contains__(cls, item: Any) -> bool:
        return cls._peer.operate("contains", cls._handle, (item,)) is True
