"""How values of tests and program become messages: by content, as a mirrored container, or as a handle.

Mutable containers cross by number (`mirror`). For a handle the other end holds a proxy (`proxies`):
    fn function   it iterator   gen generator   ag asynchronous generator   co coroutine
    cls class   obj instance of an exported class   th any other object of the program   op … of the tests
    val instance of a class of the program that is a subclass of a plain type: its content crosses too (`plain`)
The tests' end makes handles only for what the test code made itself (`ownership`).
"""

from __future__ import annotations

import builtins
import collections.abc
import functools
import importlib
import types
from typing import Any, cast

from assay.sandbox.guest.relay import exceptions, plain, proxies
from assay.sandbox.guest.relay.channel import Channel
from assay.sandbox.guest.relay.mirror import Mirror, name_of
from assay.sandbox.guest.relay.ownership import SHARED_TYPES, builtin_named, is_own, may_be_called, shared_type_name
from assay.sandbox.guest.relay.proxies import Remote, RemoteObject, RemoteThing, RemoteType
from assay.sandbox.guest.relay.standins import StandIns
from assay.sandbox.guest.values import codec, stdtypes

_MAX_HANDLES = 100_000
_PLAIN = frozenset({list, tuple, dict, set, frozenset, str, int, float, bytes, bytearray, complex})


class Exchange(Channel):
    """Encodes and decodes values of one end.

    `trusting`: whether requests of the other end are served in full; the tests' end serves calls only.
    `own_module`: module of the classes whose instances this end offers.
    """

    def __init__(self, read_fd: int, write_fd: int, *, trusting: bool, own_module: str) -> None:
        super().__init__(read_fd, write_fd)
        self.trusting = trusting
        self._own_module = own_module
        self.exported: dict[type, str] = {}
        """Classes whose instances the other end may use, with their names."""
        self.failed = False
        """An assertion of the tests failed and its exception went through the program, which may have hidden it."""
        self.untransferable: str | None = None
        """What could not cross: its class and why the value is of no use at the other end."""
        self.mirror = Mirror(self.encode, self.decode, sign=-1 if trusting else 1)
        self.stand_ins = StandIns()
        self._objects: dict[int, Any] = {}
        self._handles: dict[int, int] = {}
        self._proxies: dict[int, Any] = {}
        self._classes: dict[str, Any] = {}
        self._numbers: dict[type, int] = {}
        """Handles of the other end's classes that have a proxy here."""

    # -- to the other end ----------------------------------------

    def encode(self, value: Any) -> Any:
        """Return the form of any value. Raises `codec.TooLarge`."""
        name = name_of(value)
        if name is not None:
            return self.mirror.form_of(value, name)
        return _Encoder(self).encode(value)

    def encode_function(self, function: Any) -> Any:
        """Return the form of a function of this end that the other may call."""
        return self._make_handle(function, "fn")

    def keep(self, value: Any) -> int:
        """Return a handle for an object of this end. Raises `codec.TooLarge`."""
        number = self._handles.get(id(value))
        if number is None:
            if len(self._objects) > _MAX_HANDLES:
                raise codec.TooLarge("too many objects")
            number = len(self._objects) + 1
            self._handles[id(value)], self._objects[number] = number, value
        return number

    def name_of_class(self, kind: type) -> str | None:
        """Return the name by which both ends know an exception class, or None."""
        return self.exported.get(kind) or next((n for n, cls in self._classes.items() if cls is kind), None)

    def note_failure(self, error: BaseException) -> None:
        """Note a failed assertion that leaves the tests' end."""
        if isinstance(error, AssertionError) and not self.trusting:
            self.failed = True

    def handle_of(self, value: Any) -> Any:
        """Return the form of a value of no plain type, or None: by content."""
        kind: Any = type(value)
        if kind is RemoteType or issubclass(kind, Remote):
            return {"k": value._handle}
        form = self._form_in_program(value) if self.trusting else self._form_in_tests(value)
        if form is None and not _PLAIN & set(kind.__mro__):
            self.untransferable = self.untransferable or kind.__qualname__
        return form

    def _form_in_program(self, value: Any) -> Any:
        """Return the form of a value of the program."""
        kind: Any = type(value)
        if isinstance(value, BaseException):
            return {"E": exceptions.encode(value, self)}
        if kind in self.exported or self._is_own_plain(kind):
            return self._form_of_instance(value, self.exported.get(kind, ""))
        if isinstance(value, type) and value in self.exported:
            return self._make_handle(value, "cls", self.exported[value])
        if isinstance(value, types.BuiltinFunctionType) and stdtypes.builtin_name(value):
            try:
                builtin_named(value.__name__)
            except ValueError:
                return self._make_handle(value, "fn")
        return self._plain_form(value) or self._handle_unless_plain(value, "th")

    def _is_own_plain(self, kind: Any) -> bool:
        """Return whether a class is the program's and a subclass of a plain type, but no mere namedtuple."""
        own = kind.__module__ == self._own_module and plain.base_of(kind) is not None
        return own and not stdtypes.is_namedtuple(kind)

    def _form_of_instance(self, value: Any, label: str) -> Any:
        kind: Any = type(value)
        base = plain.base_of(kind)
        if base is None:
            return self._make_handle(value, "obj", label)
        known = self.mirror.knows(value)
        content = [] if known else [self.encode(part) for part in plain.content_of(value, base)]
        number = self.mirror.adopt(value, base.__name__) if base in plain.MUTABLE else 0
        offer = [base.__name__, plain.own_names(kind, base), kind.__name__, number]
        return {"h": [self.keep(value), "val", label, "0", content, offer]}

    def _form_in_tests(self, value: Any) -> Any:
        """Return the form of a value of the tests: a handle only for what is theirs, never for their surroundings."""
        if isinstance(value, type) and value in self._numbers:
            return {"k": self._numbers[value]}
        if isinstance(value, BaseException):
            if value.__traceback__ is not None:
                self.note_failure(value)
            return {"E": exceptions.encode(value, self)}
        if is_own(value, self._own_module):
            return self._make_handle(value, "obj", type(value).__name__)
        if (path := stdtypes.library_name(value)) is not None:
            return self._plain_form(value) or {"P": path}
        if (form := self._plain_form(value)) is not None:
            return form
        if isinstance(value, (types.ModuleType, types.FrameType, types.TracebackType, types.CodeType)):
            return None
        if callable(value) and not may_be_called(value, self._own_module):
            return None
        return self._handle_unless_plain(value, "op")

    def _plain_form(self, value: Any) -> Any:
        name = stdtypes.builtin_name(value)
        if name is not None:
            return {"B": name}
        form = stdtypes.encode_value(value, self.encode)
        return form if form is not None else stdtypes.encode_namedtuple(value, self.encode)

    def _handle_unless_plain(self, value: Any, sort: str) -> Any:
        if _PLAIN & set(type(value).__mro__):
            return None
        return self._make_handle(value, _sort(value, sort))

    def _make_handle(self, value: Any, sort: str, name: str = "") -> Any:
        body, kind = [self.keep(value), sort, name], cast(Any, type(value))
        if sort == "fn":
            body[2] = "function" if isinstance(value, types.FunctionType) else ""
        if sort in ("th", "obj"):
            body += [proxies.operations_of(kind), shared_type_name(value)]
        return {"h": body}

    # -- from the other end ----------------------------------------

    def decode(self, form: Any) -> Any:
        """Return the value of a form, with proxies for handles. Raises `codec.Malformed`."""
        return codec.decode(form, self._resolve)

    def class_named(self, name: Any) -> Any:
        """Return the class that both ends know by that name, or None."""
        if not isinstance(name, str):
            return None
        if name in self._classes:
            return self._classes[name]
        return next((kind for kind, label in self.exported.items() if self.trusting and label == name), None)

    def _resolve(self, tag: str, body: Any) -> Any:
        try:
            if tag == "m":
                return self.mirror.value_of(body)
            if tag in ("D", "n"):
                return stdtypes.decode_value(tag, body, self.decode)
            if tag == "B":
                return self._builtin(body)
            if tag == "P" and self.trusting:
                module = importlib.import_module(body[0])
                return getattr(module, body[1]) if len(body) > 1 else module
            if tag == "E":
                return exceptions.build(body, self)
            if tag == "k":
                return self._objects[body]
            if tag == "h":
                return self._proxy(*body)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise codec.Malformed("unknown object") from error
        raise codec.Malformed("unknown tag")

    def _builtin(self, name: Any) -> Any:
        if self.trusting and isinstance(name, str):
            return getattr(builtins, name)
        return self.stand_ins.of(builtin_named(name))

    def _proxy(self, number: int, sort: str, name: str, operations: str = "0", *more: Any) -> Any:
        if sort == "co":
            return self._await(number)
        if number not in self._proxies:
            self._proxies[number] = self._new_proxy(number, sort, name, operations, *more)
        return self._proxies[number]

    def _new_proxy(self, number: int, sort: str, name: str, operations: str, *more: Any) -> Any:
        if sort == "cls":
            return self._classes[name]
        if sort == "val":
            content, (base, own, label, mirrored) = more
            proxy = plain.make(base, [self.decode(form) for form in content], own, label, self._classes.get(name))
            if mirrored:
                self.mirror.accept(mirrored, proxy, base)
        else:
            proxy = self._new_plain_proxy(sort, name, operations, *more)
        object.__setattr__(proxy, "_peer", self)
        object.__setattr__(proxy, "_handle", number)
        return proxy

    def _new_plain_proxy(self, sort: str, name: str, operations: str, shared: Any = "") -> Any:
        kind = _PROXIES.get(sort) or (None if self.trusting else self._classes.get(name))
        if not (isinstance(kind, type) and issubclass(kind, Remote)):
            kind = proxies.shaped(RemoteObject if self.trusting else RemoteThing, operations)
        proxy: Any = object.__new__(kind)
        if sort == "fn":
            object.__setattr__(proxy, "_is_function", name == "function")
        elif shared in SHARED_TYPES:
            object.__setattr__(proxy, "_shared_type", SHARED_TYPES[shared])
        return proxy

    async def _await(self, number: int) -> Any:
        return self.ask("await", "", number)

    def ask(self, what: str, name: str, handle: int, args: Any = (), keywords: Any = None) -> Any:
        """Send a request and return or raise its answer (see `relay`)."""
        raise NotImplementedError

    def import_class(self, offer: Any) -> Any:
        """Make the proxy of an exported class of the other end (for exceptions: a class of this end)."""
        number, _, label = offer["class"]
        name = str(label)
        parents = [self._classes[base] for base in offer["bases"] if base in self._classes]
        if offer["raised"] is not None:
            found = tuple(parents) or (stdtypes.resolve_exception(offer["raised"]),)
            self._classes[name] = exceptions.remote_class(name, found, self)
        else:
            body = {"_peer": self, "_handle": number, "__doc__": _text_or_none(offer.get("doc"))}
            self._classes[name] = self._imported(name, parents, offer, body)
        self._numbers[self._classes[name]] = number
        return self._classes[name]

    def _imported(self, name: str, parents: list[Any], offer: Any, body: dict[str, Any]) -> Any:
        if offer.get("plain") is not None:
            base, own = offer["plain"]
            return plain.class_of(name, base, own, tuple(parents), body)
        body.update(proxies.methods_for(offer["operations"], named=True))
        return RemoteType(name, tuple(parents) or (RemoteObject,), body)


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class _Encoder(codec.Encoder):
    """Encodes a value, with mirrored containers by number wherever they are in it."""

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange.handle_of)
        self._exchange = exchange

    def encode(self, value: Any, depth: int = 0) -> Any:
        """See `codec.Encoder`."""
        name = name_of(value)
        if name is not None:
            return self._exchange.mirror.form_of(value, name)
        return super().encode(value, depth)


_PROXIES: dict[str, Any] = {
    "fn": proxies.RemoteFunction,
    "it": proxies.RemoteIterator,
    "gen": proxies.RemoteGenerator,
    "ag": proxies.RemoteAsyncIterator,
    "op": proxies.RemoteOpaque,
}


def _sort(value: Any, other: str) -> str:
    if other == "op" and type(value).__module__ == "unittest.mock":
        return "fn"  # a MagicMock is everything at once
    if isinstance(value, collections.abc.Coroutine):
        return "co"
    if isinstance(value, types.GeneratorType):
        return "gen"
    if isinstance(value, types.AsyncGeneratorType):
        return "ag"
    if isinstance(value, collections.abc.Iterator):
        return "it"
    if isinstance(value, _FUNCTIONS) or (other == "op" and callable(value) and not isinstance(value, type)):
        return "fn"
    return other


_FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    functools.partial,
    type(functools.lru_cache(_sort)),
)
"""What is a function and nothing more: other callable objects keep their attributes and operators."""
