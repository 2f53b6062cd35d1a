"""Two interpreters that use each other's functions and objects: the tests' (T) and the program's (C).

Messages are JSON lines on two pipes; a request may be answered by requests of its own (callbacks), so
both ends run the same loop. Plain values cross by content (`values`, `stdtypes`); what cannot becomes
a handle, for which the other end holds a proxy:
    fn function   it iterator   co coroutine   cls class   obj instance of an exported class
    th any other object of the program   op any other object of the tests
A proxy equals only another proxy, after each has denied being equal to a random sentinel. Operators that
would hand an expectation to the object (comparisons, arithmetic, `in`) work for `obj` alone; a `th`
offers attributes, calls, items and iteration; an `op` nothing. T believes nothing that C says of a sort or
a name: an instance of a class that T did not ask for is a `th`, and a call across is the only one that
answers. T makes handles for callables of the test code alone; C uses its own copy of the library's.

Not covered: threads that call across at the same time; subclassing a remote class.
"""

from __future__ import annotations

import builtins
import collections.abc
import functools
import importlib
import os
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from assay.sandbox.guest import stdtypes, tables, values
from assay.sandbox.guest.proxies import (
    METADATA,
    OPERATIONS,
    Remote,
    RemoteFunction,
    RemoteIterator,
    RemoteObject,
    RemoteOpaque,
    RemoteThing,
    RemoteType,
    unsupported,
)

MAX_MESSAGE_BYTES = 8 << 20
_MAX_HANDLES = 100_000
TESTS_FILE = "<tests>"
"""The file name of code that is the tests' own."""


class PeerGone(BaseException):
    """The other end closed its pipe, or sent what is no message. No test code may catch it by mistake."""


class LyingObject(AssertionError):
    """An object claimed to equal a random sentinel."""


class Peer:
    """One end of a relay. `exported` maps classes whose instances the other end may use to their names."""

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        *,
        trusting: bool,
        own_module: str,
        printed: Callable[[], str] = str,
    ) -> None:
        self._printed = printed
        """What the program printed since the last answer: goes with it, for tests that capture output."""
        self._read_fd, self._write_fd = read_fd, write_fd
        self._buffer = b""
        self.trusting = trusting
        """Whether requests of the other end are served in full; the tests' end serves calls only."""
        self._own_module = own_module
        """Module of the classes whose instances the tests' end offers."""
        self.exported: dict[type, str] = {}
        self.lied = False
        self._objects: dict[int, Any] = {}
        self._handles: dict[int, int] = {}
        self._proxies: dict[int, Any] = {}
        self._classes: dict[str, Any] = {}
        self._numbers: dict[type, int] = {}
        """Handles of the other end's classes that have a proxy here."""
        self._arguments: list[Any] = []
        self._lock = threading.RLock()

    # -- asking ----------------------------------------

    def operate(self, name: str, handle: int, args: Any = (), keywords: Any = None) -> Any:
        """Apply an operation to an object of the other end."""
        request = {
            "q": "op", "n": name, "h": handle, "a": [self.encode(item) for item in args],
            "k": {key: self.encode(item) for key, item in (keywords or {}).items()},
        }  # fmt: skip
        return self.ask(request, [*args, *(keywords or {}).values()])

    def ask(self, request: Any, arguments: Any = ()) -> Any:
        """Send a request, serve what the other end asks meanwhile, and return or raise its answer."""
        with self._lock:
            self.send(request)
            while "q" in (answer := self.receive()):
                self.send(self.serve(answer))
            if "stop" in answer and (request["q"], request["n"]) != ("op", "next"):
                raise PeerGone("only an iterator can stop")
            return self._conclude(answer, list(arguments))

    def _conclude(self, answer: Any, arguments: list[Any]) -> Any:
        previous, self._arguments = self._arguments, arguments
        try:
            if "o" in answer and isinstance(said := self.decode(answer["o"]), str):
                sys.stdout.write(said.encode("utf-8", "replace").decode())
            for index, form in answer.get("m", []):
                _refill(arguments[index], self.decode(form))
            if "x" in answer:
                raise self._exception(answer["x"])
            if "stop" in answer:
                raise StopIteration(self.decode(answer["stop"]))
            return self.decode(answer.get("r"))
        except (values.Malformed, IndexError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, values.Malformed) or "x" not in answer:
                raise PeerGone("not an answer") from error
            raise
        finally:
            self._arguments = previous

    def _exception(self, body: Any) -> BaseException:
        kind = self._named(body.get("class")) or stdtypes.resolve_exception(body.get("names"))
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            kind = RuntimeError
        try:
            error: BaseException = kind(*self.decode(body.get("args")))
        except Exception:
            error = Exception.__new__(kind)
        for name, form in body.get("attrs", {}).items():
            if isinstance(name, str) and not name.startswith("_"):
                try:
                    setattr(error, name, self.decode(form))
                except (AttributeError, TypeError):
                    continue
        return error

    def check_honest(self, handle: int) -> None:
        """Raise `LyingObject` if the object claims to equal a value that nobody knows."""
        self.check_denies("eq", handle)

    def check_denies(self, name: str, handle: int) -> None:
        """Raise `LyingObject` if the object says yes to a random value; an exception of its is a no."""
        try:
            said = self.operate(name, handle, (os.urandom(8).hex(),))
        except Exception:
            return
        if said is True:
            self.lied = True
            raise LyingObject("an object claims to equal or hold anything")

    def _named(self, name: Any) -> Any:
        """The class that both ends know by that name, or None."""
        if not isinstance(name, str):
            return None
        if name in self._classes:
            return self._classes[name]
        return next((kind for kind, label in self.exported.items() if self.trusting and label == name), None)

    # -- serving ----------------------------------------

    def serve(self, request: Any) -> Any:
        """The answer to a request of the other end."""
        try:
            target = self._objects[request["h"]]
            args = [self.decode(form) for form in request.get("a", ())]
            keywords = {key: self.decode(form) for key, form in request.get("k", {}).items()}
        except (KeyError, TypeError, values.Malformed) as error:
            raise PeerGone("not a request") from error
        given = [*args, *keywords.values()]
        before = [self._snapshot(item) for item in given]
        try:
            result = self._perform(request, target, args, keywords)
        except StopIteration as error:
            answer = self._stopped(request, error)
        except (PeerGone, LyingObject):
            raise
        except Exception as error:
            answer = {"x": self._encode_exception(error)}
        else:
            answer = {"r": self._result(result, given)}
        changed = [[i, now] for i, item in enumerate(given) if (now := self._snapshot(item)) != before[i]]
        if changed:
            answer["m"] = changed
        if said := self._printed():
            answer["o"] = self.encode(said)
        return answer

    def _stopped(self, request: Any, error: StopIteration) -> Any:
        if request["q"] == "op" and request["n"] == "next":
            return {"stop": self.encode(error.value)}
        return {"x": self._encode_exception(RuntimeError(*error.args))}

    def _perform(self, request: Any, target: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        what, name = request["q"], request["n"]
        if what == "op":
            if not (self.trusting or name in ("call", "next", "iter") or self._is_own(target)):
                raise TypeError("not offered to the program")
            operation: Callable[..., Any] = OPERATIONS.get(name, unsupported)
            return operation(target, *args, **keywords)
        if what == "get" and name in METADATA and isinstance(target, types.FunctionType):
            return getattr(target, name)
        if not self.trusting and (name.startswith("_") or not self._is_own(target)):
            raise AttributeError(name)
        if what == "get":
            return getattr(target, name)
        if what == "await":
            return importlib.import_module("asyncio").run(target)
        if what == "set":
            setattr(target, name, self.decode(request["v"]))
            return None
        delattr(target, name)
        return None

    def _is_own(self, target: Any) -> bool:
        return type(target).__module__ == self._own_module

    def _result(self, result: Any, given: list[Any]) -> Any:
        for index, item in enumerate(given):
            if item is result and isinstance(item, (list, dict, set, bytearray)):
                return {"a": index}
        return self.encode(result)

    def _snapshot(self, value: Any) -> Any:
        """The form of a mutable container, to see whether a call changed it."""
        mutable = type(value) in (list, dict, set, bytearray) or tables.is_array(value)
        return self.encode(value) if mutable else None

    def _encode_exception(self, error: BaseException) -> Any:
        kind = type(error)
        fields = getattr(error, "__dict__", {})
        public = {key: item for key, item in fields.items() if isinstance(key, str) and not key.startswith("_")}
        return {
            "class": self.exported.get(kind) or next((n for n, cls in self._classes.items() if cls is kind), None),
            "names": stdtypes.exception_names(kind),
            "args": self.encode(list(error.args)),
            "attrs": {key: self.encode(item) for key, item in public.items()},
        }

    # -- values ----------------------------------------

    def encode(self, value: Any) -> Any:
        """The form of any value: by content, or as a handle."""
        return values.Encoder(self._handle_of).encode(value)

    def _handle_of(self, value: Any) -> Any:
        kind = type(value)
        if kind is RemoteType or isinstance(value, Remote):
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
        if kind.__module__ == self._own_module and not isinstance(value, BaseException):
            return self._make_handle(value, "obj", kind.__name__)
        if isinstance(value, BaseException):
            return {"E": self._encode_exception(value)}
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
        for form in (
            stdtypes.encode_value(value, self.encode),
            stdtypes.encode_namedtuple(value, self.encode),
        ):
            if form is not None:
                return form
        return None

    def _handle_unless_plain(self, value: Any, sort: str) -> Any:
        kind = type(value)
        if {list, tuple, dict, set, frozenset, str, int, float, bytes, bytearray, complex} & set(kind.__mro__):
            return None
        return self._make_handle(value, _sort(value, sort))

    def _make_handle(self, value: Any, sort: str, name: str = "") -> Any:
        number = self._handles.get(id(value))
        if number is None:
            if len(self._objects) > _MAX_HANDLES:
                raise values.TooLarge("too many objects")
            number = len(self._objects) + 1
            self._handles[id(value)], self._objects[number] = number, value
        return {"h": [number, sort, name]}

    def decode(self, form: Any) -> Any:
        """The value of a form, with proxies for handles. Raises `values.Malformed`."""
        return values.decode(form, self._resolve)

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
                return self._exception(body)
            if tag == "k":
                return self._objects[body]
            if tag == "a":
                return self._arguments[body]
            if tag == "h":
                return self._proxy(*body)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise values.Malformed("unknown object") from error
        raise values.Malformed("unknown tag")

    def _builtin(self, name: Any) -> Any:
        if self.trusting and isinstance(name, str):
            return getattr(builtins, name)
        return stdtypes.builtin_type(name)

    def _proxy(self, number: int, sort: str, name: str) -> Any:
        if sort == "co":
            return self._await(number)
        if number not in self._proxies:
            self._proxies[number] = self._new_proxy(number, sort, name)
        return self._proxies[number]

    def _new_proxy(self, number: int, sort: str, name: str) -> Any:
        if sort == "cls":
            return self._classes[name]
        kind = _PROXIES.get(sort) or (RemoteObject if self.trusting else self._classes.get(name))
        if not (isinstance(kind, type) and issubclass(kind, Remote)):
            kind = RemoteThing
        proxy = object.__new__(kind)
        object.__setattr__(proxy, "_peer", self)
        object.__setattr__(proxy, "_handle", number)
        return proxy

    async def _await(self, number: int) -> Any:
        return self.ask({"q": "await", "h": number, "n": ""})

    def import_class(self, name: str, number: int, bases: list[str], exception: Any) -> Any:
        """Make the proxy of an exported class of the other end (for exceptions: a class of our own)."""
        parents = [self._classes[base] for base in bases if base in self._classes]
        if exception is not None:
            found = tuple(parents) or (stdtypes.resolve_exception(exception),)
            self._classes[name] = type(name, found, {})
        else:
            body = {"_peer": self, "_handle": number}
            self._classes[name] = RemoteType(name, tuple(parents) or (RemoteObject,), body)
        self._numbers[self._classes[name]] = number
        return self._classes[name]

    # -- messages ----------------------------------------

    def send(self, message: Any) -> None:
        """Write one message. Raises `PeerGone`."""
        data = values.json_dumps(message).encode() + b"\n"
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._write_fd, view) :]
        except OSError as error:
            raise PeerGone("the other end is gone") from error

    def receive(self) -> Any:
        """Read one message. Raises `PeerGone`."""
        chunks, size = [self._buffer], len(self._buffer)
        while b"\n" not in chunks[-1]:
            data = os.read(self._read_fd, 1 << 16)
            size += len(data)
            if not data or size > MAX_MESSAGE_BYTES:
                raise PeerGone("the other end is gone")
            chunks.append(data)
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        try:
            message = values.parse(line)
        except values.Malformed as error:
            raise PeerGone("not a message") from error
        if not isinstance(message, dict):
            raise PeerGone("not a message")
        return message


_PROXIES: dict[str, Any] = {
    "fn": RemoteFunction, "it": RemoteIterator, "op": RemoteOpaque, "th": RemoteThing,
}  # fmt: skip


def _sort(value: Any, other: str) -> str:
    if isinstance(value, collections.abc.Coroutine):
        return "co"
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


def _refill(container: Any, content: Any) -> None:
    """Give a mutable container the content that a call left in its copy."""
    if isinstance(container, (list, bytearray)) and isinstance(content, (list, bytes)):
        container[:] = content
    elif isinstance(container, (dict, set)) and isinstance(content, (dict, set)):
        container.clear()
        container.update(content)
    elif tables.is_array(container) and tables.is_array(content) and container.shape == content.shape:
        container[...] = content
