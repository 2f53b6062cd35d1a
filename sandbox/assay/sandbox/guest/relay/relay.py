"""Two interpreters that use each other's functions and objects: the tests' (T) and the program's (C).

Messages are JSON lines on two pipes; a request may be answered by requests of its own (callbacks), so both ends run
the same loop. How values cross is in `exchange` and `mirror`, what an end holds for a handle in `proxies`.
A proxy equals only another proxy, after each has denied being equal to random values. T takes values from C, since
the tests judge them, but does not rely on what C says about kinds and names of objects; a malformed message counts as C
being gone. Three facts stay recorded at T whatever its code catches: C is gone, an object lied, an assertion failed
where C could hide it.

    request  {"q": what, "n": name, "h": handle, "a": arguments, "k": keywords}
    answer   {"r": result} | {"x": exception} | {"stop": value}, and "o" side effects, "g" globals that changed
    both     "new", "edits", "gone" (see `mirror`)

Not covered: threads that call across at the same time; subclassing a remote class.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from assay.sandbox.guest.relay import exceptions, sideeffects
from assay.sandbox.guest.relay.channel import PeerGone, pack
from assay.sandbox.guest.relay.exchange import Exchange
from assay.sandbox.guest.relay.operations import METADATA, NAMED, OPERATIONS, TOLD, unsupported
from assay.sandbox.guest.relay.ownership import is_own, shared_type_name
from assay.sandbox.guest.values import codec

__all__ = ["LyingObject", "Peer", "PeerGone"]
_ENDS = ("next", "anext", "send", "throw")
_OF_ANY_OBJECT = ("call", "next", "iter", "send")
"""Operations that the program may apply to whatever the tests have given it."""
_LATER = ("anext", "aenter", "aexit")
_OF_A_MOCK = ("assert", "mock_", "method_calls", "reset_mock", "configure_mock", "attach_mock", "side_effect", "_")
_RECURSION_LIMIT = 6000
"""Enough to encode the deepest value that crosses, whatever limit the program has set."""
Message = dict[str, Any]


class LyingObject(AssertionError):
    """An object claimed to equal a random sentinel."""


class NotTransferable(TypeError):
    """A value cannot cross between tests and program."""


class Peer(Exchange):
    """One end of a relay.

    `done` returns what the program did beside since the last answer (`sideeffects`), which goes with it.
    """

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        *,
        trusting: bool,
        own_module: str,
        done: Callable[[], Any] = lambda: None,
    ) -> None:
        super().__init__(read_fd, write_fd, trusting=trusting, own_module=own_module)
        self._done = done
        self.globals: Callable[[], dict[str, Any]] = dict
        """Returns the program's global values that have changed since the last answer."""
        self.on_globals: Callable[[dict[str, Any]], None] = lambda changed: None
        """What the tests' end does with them."""
        self.lied = False
        self.blocked = False
        """A value that was needed could not cross; the tests do not pass, whatever they make of the error."""
        self._lock = threading.RLock()
        self._loop: Any = None

    # -- asking ----------------------------------------

    def operate(self, name: str, handle: int, args: Any = (), keywords: Any = None) -> Any:
        """Apply an operation to an object of the other end."""
        return self.ask("op", name, handle, args, keywords)

    def ask(self, what: str, name: str, handle: int, args: Any = (), keywords: Any = None) -> Any:
        """Send a request, serve what the other end asks meanwhile, and return or raise its answer."""
        request = {"q": what, "n": name, "h": handle}
        with self._lock:
            self.write(self._request(request, args, keywords or {}))
            while "q" in (answer := self.receive()):
                self.write(self.serve(answer))
            if "stop" in answer and not (what == "op" and name in _ENDS):
                raise self.lose("only an iterator can stop")
            return self._conclude(request, answer)

    def _request(self, request: Message, args: Any, keywords: dict[str, Any]) -> bytes:
        def fill(message: Message) -> None:
            message["a"] = [self.encode(item) for item in args]
            if keywords:
                message["k"] = {key: self.encode(item) for key, item in keywords.items()}

        try:
            return self.composed(request, fill)
        except (codec.TooLarge, RecursionError) as error:
            self.untransferable, self.blocked = self.untransferable or str(error), True
            raise NotTransferable(str(error)) from error

    def composed(self, message: Message, fill: Callable[[Message], None]) -> bytes:
        """Return a packed message that `fill` completes, with what has changed in mirrored containers.

        Raises `codec.TooLarge`; then nothing counts as sent.
        """
        with self.mirror.composing():
            edits = self.mirror.edits()
            fill(message)
            if edits:
                message["edits"] = edits
            if new := self.mirror.definitions():
                message["new"] = new
            if gone := self.mirror.forgotten():
                message["gone"] = gone
            return pack(message)

    def take(self, message: Any) -> None:
        """Take over what has changed in mirrored containers. Raises `PeerGone` if the message is malformed."""
        try:
            self.mirror.take(message)
        except (codec.Malformed, TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise self.lose("malformed changes") from error

    def _conclude(self, request: Message, answer: Any) -> Any:
        try:
            return self._read(request, answer)
        except (codec.Malformed, codec.TooLarge) as error:
            raise self.lose("not an answer") from error

    def _read(self, request: Message, answer: Any) -> Any:
        self.take(answer)
        try:
            error = self._read_effects(request, answer)
            if error is None:
                return self.decode(answer.get("r"))
        except (IndexError, TypeError, KeyError, AttributeError, ValueError) as fault:
            raise self.lose("not an answer") from fault
        raise error

    def _read_effects(self, request: Message, answer: Any) -> BaseException | None:
        """Replay side effects, take over globals; return the exception that the answer holds, if any."""
        if not self.trusting:
            if "o" in answer:
                sideeffects.replay(self.decode(answer["o"]))
            if "g" in answer:
                self.on_globals({str(name): self.decode(form) for name, form in answer["g"].items()})
            if "lost" in answer:
                self.untransferable, blocked = str(answer["lost"][0])[:200], answer["lost"][1]
                self.blocked = self.blocked or blocked is True
        if "x" in answer:
            return exceptions.build(answer["x"], self)
        if "stop" in answer:
            end = self.decode(answer["stop"])
            return StopAsyncIteration() if request["n"] == "anext" else StopIteration(end)
        return None

    def check_honest(self, handle: int) -> None:
        """Raise `LyingObject` if the object claims to equal a value that nobody knows."""
        self.check_denies("eq", handle, like=0)

    def check_denies(self, name: str, handle: int, *, like: Any = "") -> None:
        """Raise `LyingObject` if the object says yes to random values; an exception from it counts as a no.

        The values are a text, then some of the type of `like`, which it will be asked about.
        """
        kinds = [[os.urandom(8).hex()], [_random_like(like, sign) for sign in (1, -1)]]
        for sentinels in kinds:
            if all(self._says_yes(name, handle, sentinel) for sentinel in sentinels):
                self.lied = True
                raise LyingObject("an object claims to equal or hold anything")

    def _says_yes(self, name: str, handle: int, sentinel: Any) -> bool:
        try:
            return self.operate(name, handle, (sentinel,)) is True
        except Exception:
            return False

    # -- serving ----------------------------------------

    def serve(self, request: Any) -> bytes:
        """Return the packed answer to a request of the other end."""
        self.take(request)
        try:
            target = self._objects[request["h"]]
            args = [self.decode(form) for form in request.get("a", ())]
            keywords = {key: self.decode(form) for key, form in request.get("k", {}).items()}
        except (KeyError, TypeError, ValueError) as error:
            raise self.lose("not a request") from error
        fill = self._performed(request, target, args, keywords)
        with _deep_recursion():
            try:
                return self.composed({}, lambda message: self._fill_answer(message, fill))
            except (codec.TooLarge, RecursionError) as error:
                fault = NotTransferable(str(error))
                self.untransferable, self.blocked = self.untransferable or str(error), True
                return self.composed({}, lambda message: self._fill_answer(message, self._raised(fault)))

    def _fill_answer(self, message: Message, fill: Callable[[Message], None]) -> None:
        fill(message)
        if changed := self.globals():
            message["g"] = {name: self.encode(item) for name, item in changed.items()}
        if (done := self._done()) is not None:
            message["o"] = self.encode(done)
        if self.trusting and self.untransferable is not None:
            message["lost"] = [self.untransferable, self.blocked]

    def _performed(self, request: Any, target: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        """Do what is asked; return what fills the answer in."""
        caught: tuple[type[BaseException], ...] = (Exception, SystemExit) if self.trusting else (Exception,)
        try:
            result = self._perform(request, target, args, keywords)
        except (StopIteration, StopAsyncIteration) as error:
            return self._stopped(request, error)
        except (PeerGone, LyingObject):
            raise
        except caught as error:
            self.note_failure(error)
            return self._raised(error)
        return lambda message: message.update(r=self.encode(result))

    def _raised(self, error: BaseException) -> Callable[[Message], None]:
        return lambda message: message.update(x=exceptions.encode(error, self))

    def _stopped(self, request: Any, error: Exception) -> Callable[[Message], None]:
        if request["q"] == "op" and request["n"] in _ENDS:
            return lambda message: message.update(stop=self.encode(getattr(error, "value", None)))
        return self._raised(RuntimeError(*error.args))

    def _perform(self, request: Any, target: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        what, name = request["q"], request["n"]
        if what == "op":
            return self._apply_operation(name, target, args, keywords)
        if what == "get" and name in (METADATA if self.trusting else TOLD) and isinstance(target, types.FunctionType):
            return getattr(target, name)
        if not self.trusting and not self._offers(what, name, target):
            raise AttributeError(name)
        if what == "get":
            return getattr(target, name)
        if what == "await":
            return self._run(target)
        if what == "set":
            setattr(target, name, args[0])
            return None
        delattr(target, name)
        return None

    def _apply_operation(self, name: str, target: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        offered = name not in NAMED and is_own(target, self._own_module)
        if not (self.trusting or offered or name in _OF_ANY_OBJECT):
            raise TypeError("not offered to the program")
        if name in _LATER and self.trusting:
            error = args[0] if args else None
            extra = (error and type(error), error, None) if name == "aexit" else ()
            return self._run(getattr(type(target), f"__{name}__")(target, *extra))
        operation: Callable[..., Any] = OPERATIONS.get(name, unsupported)
        return operation(target, *args, **keywords)

    def _offers(self, what: str, name: str, target: Any) -> bool:
        """Return whether the tests' end lets the program use an attribute of `target`."""
        if name.startswith("_") or what == "await":
            return False
        if type(target).__module__ == "unittest.mock":
            return what == "get" and not name.startswith(_OF_A_MOCK)
        if what != "get" and callable(getattr(type(target), name, None)):
            return False  # a method of the tests' own object: replacing it would decide the test
        return is_own(target, self._own_module) and (what == "get" or not _is_stateful(target))

    def _run(self, coroutine: Any) -> Any:
        """Run a coroutine of the program on one loop, which keeps its generators and tasks alive."""
        if self._loop is None:
            asyncio = importlib.import_module("asyncio")
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(_awaited(coroutine))


def _is_stateful(target: Any) -> bool:
    """Return whether an object of the standard library has attributes that are not meant to be set from outside."""
    return shared_type_name(target) not in ("", "types.SimpleNamespace")


class _deep_recursion:
    """Raises the recursion limit while an answer is encoded."""

    def __enter__(self) -> None:
        self._limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._limit, _RECURSION_LIMIT))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self._limit)


async def _awaited(thing: Any) -> Any:
    return await thing


def _random_like(value: Any, sign: int) -> Any:
    """Return a value of the same type that nobody knows."""
    number = sign * (random.SystemRandom().getrandbits(40) * 2 + (1 << 40) + (sign > 0))
    if isinstance(value, bool) or value is None:
        return os.urandom(8).hex()
    if isinstance(value, (int, float, complex)):
        return type(value)(number) if type(value) in (int, float, complex) else number
    if isinstance(value, (tuple, list)):
        return type(value)(_random_like(item, sign) for item in value) if type(value) in (tuple, list) else number
    return os.urandom(8).hex() if sign > 0 else str(number)
