"""Proxies: what one end of a relay holds for functions, classes and objects of the other end.

Every use of a proxy is a request to the other end (see `relay`). A proxy has the operators that the other end says its
class has, so that `hasattr` and `callable` give the same answer at both ends. Operators that would pass an expected
value to an object (comparisons, arithmetic, `in`) exist only on `RemoteObject`, whose class the tests name.

Example of an attack: in `abs(x - 3.14) < eps`, `x.__sub__` gets the expected 3.14 and returns 0. So a difference to a
plain value, or a quotient by a number, is marked (`_difference`): using it gives marked objects, text or None only.
"""

from __future__ import annotations

import inspect
import numbers
import types
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, Protocol

from assay.sandbox.guest.relay.operations import METADATA, NAMED, OPERATIONS, special, unsupported


class Requests(Protocol):
    """What a proxy needs of its end of the relay; `relay.Peer` implements it."""

    def ask(self, what: str, name: str, handle: int, args: Any = (), keywords: Any = None) -> Any:
        """Send a request and return or raise its answer."""

    def operate(self, name: str, handle: int, args: Any = (), keywords: Any = None) -> Any:
        """Apply an operation to an object of the other end."""

    def encode(self, value: Any) -> Any:
        """Return the form of a value."""

    def check_honest(self, handle: int) -> None:
        """Raise if the object claims to equal random values."""

    def check_denies(self, name: str, handle: int, *, like: Any = "") -> None:
        """Raise if the object says yes to random values."""


class Remote:
    """Base of all proxies: the relay end that they belong to, and the handle of the object at the other end."""

    _peer: Requests
    _handle: int

    def __repr__(self) -> str:
        return f"<remote {type(self).__name__}>"


def passed_on(proxy: Any, result: Any) -> Any:
    """Return the result of using `proxy`. If that is a difference, mark the result, and raise if it is a number."""
    if not object.__getattribute__(proxy, "_difference"):
        return result
    if isinstance(result, (RemoteThing, RemoteFunction)):
        object.__setattr__(result, "_difference", True)
        return result
    return result if result is None or type(result) is str else unsupported()


class RemoteFunction(Remote):
    """A function of the other end."""

    _difference = False
    _is_function = False

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return types.FunctionType if self._is_function else type(self)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return self._said(name="__dict__")

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":
            return _signature(self._peer.operate("signature", self._handle))
        if name.startswith("__") and name not in METADATA:
            raise AttributeError(name)
        return self._peer.ask("get", name, self._handle)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            self._peer.ask("set", name, self._handle, (value,))
        except AttributeError:
            object.__setattr__(self, name, value)  # the tests' own function: the program keeps its mark to itself

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it over there."""
        return passed_on(self, self._peer.operate("call", self._handle, args, keywords))

    def _said(self, *, name: str) -> Any:
        return self.__getattr__(name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)


for _name in ("__doc__", "__annotations__", "__module__"):
    setattr(RemoteFunction, _name, property(partial(RemoteFunction._said, name=_name)))


def _signature(rows: Any) -> inspect.Signature:
    """A signature from [name, kind, has a default, its text]."""
    kinds = list(inspect._ParameterKind)
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(str(name), kinds[kind], default=str(text) if given else empty)
            for name, kind, given, text in rows
        ]
    )


class RemoteIterator(Remote):
    """An iterator of the other end."""

    def __iter__(self) -> RemoteIterator:
        return self

    def __next__(self) -> Any:
        return self._peer.operate("next", self._handle)


class RemoteGenerator(RemoteIterator):
    """A generator of the other end."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return types.GeneratorType

    def _method(self, name: str) -> Any:
        return self._peer.ask("get", name, self._handle)

    def close(self) -> None:
        """End the generator."""
        self._method("close")()

    def send(self, value: Any) -> Any:
        """Send a value into the generator."""
        return self._peer.operate("send", self._handle, (value,))

    def throw(self, error: Any) -> Any:
        """Raise an exception inside the generator."""
        return self._peer.operate("throw", self._handle, (error,))


class RemoteAsyncIterator(Remote):
    """An asynchronous generator of the other end; it runs over there while we wait."""

    def __aiter__(self) -> RemoteAsyncIterator:
        return self

    async def __anext__(self) -> Any:
        return self._peer.operate("anext", self._handle)

    async def aclose(self) -> None:
        """End the generator."""
        await self._peer.ask("get", "aclose", self._handle)()


class RemoteOpaque(Remote):
    """An object of the other end that has no meaning here; true or false as it says."""

    def __bool__(self) -> bool:
        return self._peer.operate("bool", self._handle) is True


class RemoteThing(Remote):
    """An object of a class that the tests do not name."""

    _difference = False
    _shared_type: type | None = None
    """A type of the standard library that `isinstance` finds it to be of."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return object.__getattribute__(self, "_shared_type") or type(self)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return self._peer.ask("get", "__dict__", self._handle)

    def __dir__(self) -> Any:
        return self._peer.operate("dir", self._handle)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__array", "__dataframe", "__dataclass")):
            raise AttributeError(name)  # libraries would hand it our operands
        return passed_on(self, self._peer.ask("get", name, self._handle))

    def __setattr__(self, name: str, value: Any) -> None:
        self._peer.ask("set", name, self._handle, (value,))

    def __delattr__(self, name: str) -> None:
        self._peer.ask("del", name, self._handle)

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

    def __str__(self) -> str:
        return str(self._peer.operate("str", self._handle))

    def __format__(self, how: str) -> str:
        return str(self._peer.operate("format", self._handle, (how,)))

    def __copy__(self) -> Any:
        return self._peer.operate("copy", self._handle)

    def __deepcopy__(self, memo: Any) -> Any:
        return self._peer.operate("deepcopy", self._handle)


def _said_of(self: RemoteThing) -> Any:
    return self._peer.ask("get", "__doc__", self._handle)


RemoteThing.__doc__ = property(_said_of)  # type: ignore[assignment]


class RemoteObject(RemoteThing):
    """An instance of a class of the other end that this end asked for: operators work.

    Objects are ordered among themselves, never beside a number that the tests expect.
    """

    __hash__ = RemoteThing.__hash__


_NO_AMOUNT = (str, bytes, set, frozenset, dict, type(None), bool)
_QUOTIENTS = frozenset({"truediv", "rtruediv", "itruediv", "floordiv", "rfloordiv", "ifloordiv", "divmod", "rdivmod"})


def _is_apart(name: str, args: tuple[Any, ...]) -> bool:
    """Whether the operation tells how far an object is from something that the tests expect."""
    if not args or isinstance(args[0], Remote):
        return False
    if name in ("sub", "rsub", "isub"):
        return not isinstance(args[0], _NO_AMOUNT)
    return name in _QUOTIENTS and isinstance(args[0], numbers.Number)


def _forward(name: str) -> Any:
    def method(self: RemoteThing, *args: Any) -> Any:
        result = self._peer.operate(name, self._handle, args)
        if _is_apart(name, args):
            if not isinstance(result, RemoteObject):
                return unsupported()
            object.__setattr__(result, "_difference", True)
        return passed_on(self, result)

    return method


def _call(self: RemoteThing, *args: Any, **keywords: Any) -> Any:
    return passed_on(self, self._peer.operate("call", self._handle, args, keywords))


def _exit(self: RemoteThing, kind: Any, error: Any, trace: Any) -> bool:
    return self._peer.operate("exit", self._handle, (error,)) is True


async def _enter_later(self: RemoteThing) -> Any:
    return passed_on(self, self._peer.operate("aenter", self._handle))


async def _exit_later(self: RemoteThing, kind: Any, error: Any, trace: Any) -> bool:
    return self._peer.operate("aexit", self._handle, (error,)) is True


async def _next_later(self: RemoteThing) -> Any:
    return passed_on(self, self._peer.operate("anext", self._handle))


def _contains(self: RemoteThing, item: Any) -> bool:
    if self._difference:
        return unsupported()  # type: ignore[no-any-return]
    self._peer.check_denies("contains", self._handle, like=item)
    return self._peer.operate("contains", self._handle, (item,)) is True


def _order(name: str) -> Any:
    def method(self: RemoteObject, other: Any) -> Any:
        if not isinstance(other, RemoteObject):
            return NotImplemented
        return self._peer.operate(name, self._handle, (other,)) is True

    return method


for _name in ("lt", "le", "gt", "ge"):
    setattr(RemoteObject, f"__{_name}__", _order(_name))

_HARMLESS = (
    "bytes",
    "fspath",
    "len",
    "bool",
    "iter",
    "getitem",
    "setitem",
    "delitem",
    "enter",
    "reversed",
    "next",
    "aiter",
)
THING_METHODS: dict[str, Any] = {
    **{name: _forward(name) for name in _HARMLESS},
    "call": _call, "exit": _exit, "aenter": _enter_later, "aexit": _exit_later, "anext": _next_later,
}  # fmt: skip
"""Operators that tell the object nothing of what the tests expect, by the name of their special method."""
_ALWAYS = ("eq", "ne", "lt", "le", "gt", "ge", "hash", "dir", "repr", "str", "format", "contains")
OBJECT_METHODS: dict[str, Any] = {
    **{name: _forward(name) for name in OPERATIONS if name not in (*_ALWAYS, *NAMED, *THING_METHODS)},
    **THING_METHODS, "contains": _contains,
}  # fmt: skip


def _defines(kind: type, name: str) -> bool:
    """Whether the class has the method, by itself or a base; its metaclass does not count."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None) is not None


@cache
def operations_of(kind: Any) -> str:
    """The operations that instances of a class of this end have: bits in hexadecimal, in the order of the table."""
    have = [_defines(kind, special(name)) for name in OBJECT_METHODS]
    return format(sum(1 << place for place, has in enumerate(have) if has), "x")


@cache
def methods_for(operations: str, *, named: bool) -> dict[str, Any]:
    """Special methods for a proxy's class, of those that the other end says it has. Raises `ValueError`."""
    offered, bits = (OBJECT_METHODS if named else THING_METHODS), int(operations[:32], 16)
    names = (name for place, name in enumerate(OBJECT_METHODS) if bits >> place & 1)
    return {special(name): offered[name] for name in names if name in offered}


@cache
def shaped(kind: type, operations: str) -> type:
    """A class of proxies with those operations. Raises `ValueError`."""
    return type(kind.__name__, (kind,), methods_for(operations, named=issubclass(kind, RemoteObject)))


_OF_A_CLASS = frozenset(
    {"__slots__", "__match_args__", "__members__", "__total__", "__required_keys__", "__optional_keys__"}
)
"""Special attributes of a class that its proxy asks for."""


class RemoteType(type):
    """Metaclass of the proxies of exported classes: making and class attributes happen over there."""

    _peer: Requests
    _handle: int

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        """Make an instance over there."""
        return cls._peer.operate("call", cls._handle, args, keywords)

    def __getattr__(cls, name: str) -> Any:
        if name == "__signature__":
            return _signature(cls._peer.operate("signature", cls._handle))
        if name.startswith("__") and name not in _OF_A_CLASS:
            raise AttributeError(name)
        return cls._peer.ask("get", name, cls._handle)

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
