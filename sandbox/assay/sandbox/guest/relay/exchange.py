"""How values of tests and program become messages: by content where they are plain, else as handles.

For a handle the other end holds a proxy (`proxies`):
    fn function   it iterator   gen generator   ag asynchronous generator   co coroutine
    cls class   obj instance of an exported class   th any other object of the program   op … of the tests
A container that is an attribute of an object or a global of the program is *live*: each end keeps its copy and
what either changes is told with the next message. T makes handles for what the test code made alone.
"""

from __future__ import annotations

import builtins
import collections.abc
import functools
import importlib
import io
import types
from typing import Any, cast

from assay.sandbox.guest.relay import exceptions, proxies
from assay.sandbox.guest.relay.channel import Channel
from assay.sandbox.guest.relay.mutable import MUTABLE, refill
from assay.sandbox.guest.relay.proxies import Remote, RemoteObject, RemoteThing, RemoteType
from assay.sandbox.guest.values import codec, stdtypes

_MAX_HANDLES = 100_000
_MAX_LIVE, _MAX_LIVE_ITEMS = 64, 256
TESTS_FILE = "<tests>"
"""The file name of code that is the tests' own."""
_PLAIN = frozenset({list, tuple, dict, set, frozenset, str, int, float, bytes, bytearray, complex})


class Exchange(Channel):
    """Encodes and decodes. `exported` maps classes whose instances the other end may use to their names."""

    def __init__(self, read_fd: int, write_fd: int, *, trusting: bool, own_module: str) -> None:
        super().__init__(read_fd, write_fd)
        self.trusting = trusting
        """Whether requests of the other end are served in full; the tests' end serves calls only."""
        self._own_module = own_module
        """Module of the classes whose instances the tests' end offers."""
        self.exported: dict[type, str] = {}
        self._objects: dict[int, Any] = {}
        self._handles: dict[int, int] = {}
        self._proxies: dict[int, Any] = {}
        self._classes: dict[str, Any] = {}
        self._numbers: dict[type, int] = {}
        """Handles of the other end's classes that have a proxy here."""
        self._arguments: list[Any] = []
        self.failed = False
        """An assertion of the tests failed and its exception went through the program, which may have hidden it."""
        self._live: dict[int, tuple[Any, Any]] = {}
        """Live containers by handle (negative: the other end's), each with the form it last had on both ends."""

    # -- to the other end ----------------------------------------

    def encode(self, value: Any) -> Any:
        """The form of any value: by content, or as a handle."""
        return codec.Encoder(self._handle_of).encode(value)

    def encode_function(self, function: Any) -> Any:
        """The form of a function of this end that the other may call."""
        return self._make_handle(function, "fn")

    def keep(self, value: Any) -> int:
        """A handle for an object of this end."""
        number = self._handles.get(id(value))
        if number is None:
            if len(self._objects) > _MAX_HANDLES:
                raise codec.TooLarge("too many objects")
            number = len(self._objects) + 1
            self._handles[id(value)], self._objects[number] = number, value
        return number

    def name_of_class(self, kind: type) -> str | None:
        """The name by which both ends know an exception class, or None."""
        return self.exported.get(kind) or next((n for n, cls in self._classes.items() if cls is kind), None)

    def note_failure(self, error: BaseException) -> None:
        """Take note of a failed assertion that leaves the tests' end."""
        if isinstance(error, AssertionError) and not self.trusting:
            self.failed = True

    def _handle_of(self, value: Any) -> Any:
        kind = type(value)
        if kind is RemoteType or issubclass(kind, Remote):
            return {"k": value._handle}
        if not self.trusting:
            return self._form_in_tests(value)
        if kind in self.exported:
            return self._make_handle(value, "obj", self.exported[kind])
        if isinstance(value, type) and value in self.exported:
            return self._make_handle(value, "cls", self.exported[value])
        return self._plain_form(value) or self._handle_unless_plain(value, "th")

    def _form_in_tests(self, value: Any) -> Any:
        """A form of a value of the tests: a handle only for what is theirs, never for their surroundings."""
        kind = type(value)
        if isinstance(value, type) and value in self._numbers:
            return {"k": self._numbers[value]}
        if isinstance(value, BaseException):
            if value.__traceback__ is not None:
                self.note_failure(value)
            return {"E": exceptions.encode(value, self)}
        if is_own(value, self._own_module):
            return self._make_handle(value, "obj", kind.__name__)
        if (path := stdtypes.library_name(value)) is not None:
            return self._plain_form(value) or {"P": path}
        if (form := self._plain_form(value)) is not None:
            return form
        if isinstance(value, (types.ModuleType, types.FrameType, types.TracebackType, types.CodeType)):
            return None
        if callable(value) and not _may_be_called(value, self._own_module):
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
        if sort in ("th", "obj"):
            body.append(proxies.operations_of(kind))
        return {"h": body}

    # -- from the other end ----------------------------------------

    def decode(self, form: Any) -> Any:
        """The value of a form, with proxies for handles. Raises `codec.Malformed`."""
        return codec.decode(form, self._resolve)

    def class_named(self, name: Any) -> Any:
        """The class that both ends know by that name, or None."""
        if not isinstance(name, str):
            return None
        if name in self._classes:
            return self._classes[name]
        return next((kind for kind, label in self.exported.items() if self.trusting and label == name), None)

    def _resolve(self, tag: str, body: Any) -> Any:
        try:
            if tag in ("D", "n"):
                return stdtypes.decode_value(tag, body, self.decode)
            if tag == "B":
                return self._builtin(body)
            if tag == "P" and self.trusting:
                module = importlib.import_module(body[0])
                return getattr(module, body[1]) if len(body) > 1 else module
            if tag == "E" and self.trusting:
                return exceptions.build(body, self)
            if tag == "k":
                return self._objects[body]
            if tag == "a":
                return self._arguments[body]
            if tag == "h":
                return self._proxy(*body)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise codec.Malformed("unknown object") from error
        raise codec.Malformed("unknown tag")

    def _builtin(self, name: Any) -> Any:
        if self.trusting and isinstance(name, str):
            return getattr(builtins, name)
        return stdtypes.builtin_type(name)

    def _proxy(self, number: int, sort: str, name: str, operations: str = "0") -> Any:
        if sort == "co":
            return self._await(number)
        if number not in self._proxies:
            self._proxies[number] = self._new_proxy(number, sort, name, operations)
        return self._proxies[number]

    def _new_proxy(self, number: int, sort: str, name: str, operations: str) -> Any:
        if sort == "cls":
            return self._classes[name]
        kind = _PROXIES.get(sort) or (None if self.trusting else self._classes.get(name))
        if not (isinstance(kind, type) and issubclass(kind, Remote)):
            kind = proxies.shaped(RemoteObject if self.trusting else RemoteThing, operations)
        proxy: Any = object.__new__(kind)
        object.__setattr__(proxy, "_peer", self)
        object.__setattr__(proxy, "_handle", number)
        return proxy

    async def _await(self, number: int) -> Any:
        return self.ask({"q": "await", "h": number, "n": ""})

    def ask(self, request: Any, arguments: Any = ()) -> Any:
        """Send a request and return or raise its answer (see `relay`)."""
        raise NotImplementedError

    def import_class(self, name: str, number: int, bases: list[str], exception: Any, operations: str = "0") -> Any:
        """Make the proxy of an exported class of the other end (for exceptions: a class of our own)."""
        parents = [self._classes[base] for base in bases if base in self._classes]
        if exception is not None:
            found = tuple(parents) or (stdtypes.resolve_exception(exception),)
            self._classes[name] = exceptions.remote_class(name, found, self)
        else:
            body = {"_peer": self, "_handle": number, **proxies.methods_for(operations, named=True)}
            self._classes[name] = RemoteType(name, tuple(parents) or (RemoteObject,), body)
        self._numbers[self._classes[name]] = number
        return self._classes[name]

    # -- live containers ----------------------------------------

    def offer_live(self, value: Any) -> int | None:
        """The handle of a container of this end that the other may change, or None."""
        if type(value) not in MUTABLE or len(value) > _MAX_LIVE_ITEMS:
            return None
        number = self.keep(value)
        if number not in self._live and len(self._live) >= _MAX_LIVE:
            return None
        self._live[number] = (value, self.encode(value))
        return number

    def accept_live(self, number: Any, value: Any) -> Any:
        """Our copy of a live container of the other end: always the same one."""
        if type(number) is not int or type(value) not in MUTABLE:
            return value
        if -number in self._live:
            value = refill(self._live[-number][0], value)
        elif len(self._live) >= _MAX_LIVE:
            return value
        self._live[-number] = (value, self.encode(value))
        return value

    def changes(self) -> list[Any]:
        """What live containers have become here since the last message."""
        changed = []
        for number, (value, form) in list(self._live.items()):
            try:
                now = self.encode(value)
            except codec.TooLarge:  # it holds itself by now, or too much: from here on each end has its own
                del self._live[number]
                continue
            if now != form:
                self._live[number] = (value, now)
                changed.append([-number, now])
        return changed

    def apply(self, changed: Any) -> None:
        """Take over what live containers have become at the other end. Raises `codec.Malformed`."""
        for number, form in changed:
            if number in self._live:
                value = self._live[number][0]
                refill(value, self.decode(form))
                self._live[number] = (value, self.encode(value))


def is_own(value: Any, own_module: str) -> bool:
    """Whether an object is one that test code made for the program to use: of its own classes, or a text file."""
    kind = type(value)
    return kind.__module__ == own_module or kind in (io.StringIO, io.BytesIO)


_PROXIES: dict[str, Any] = {
    "fn": proxies.RemoteFunction, "it": proxies.RemoteIterator, "gen": proxies.RemoteGenerator,
    "ag": proxies.RemoteAsyncIterator, "op": proxies.RemoteOpaque,
}  # fmt: skip


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
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType,
    types.WrapperDescriptorType, types.MethodDescriptorType, functools.partial, type(functools.lru_cache(_sort)),
)  # fmt: skip
"""What is a function and nothing more: other callable objects keep their attributes and operators."""
_MADE_BY_TESTS = frozenset({"functools", "operator", "_operator", "unittest", "numpy"})
"""Modules whose callable objects test code makes and hands over: `partial`, `itemgetter`, `Mock`, ufuncs."""


def _may_be_called(value: Any, own_module: str) -> bool:
    """Whether the tests may hand a callable to the program: functions, classes and objects of theirs."""
    if isinstance(value, types.FunctionType):
        inner = getattr(value, "__wrapped__", value)
        return isinstance(inner, types.FunctionType) and inner.__code__.co_filename == TESTS_FILE
    if isinstance(value, types.MethodType):
        return _may_be_called(value.__func__, own_module)
    if isinstance(value, types.BuiltinMethodType):
        return not isinstance(value.__self__, (types.ModuleType, type, type(None)))
    if isinstance(value, type):
        return value.__module__ == own_module
    if isinstance(value, type(functools.lru_cache(_sort))):
        return _may_be_called(value.__wrapped__, own_module)
    return type(value).__module__.partition(".")[0] in _MADE_BY_TESTS | {own_module}
