"""Two interpreters that use each other's functions and objects: the tests' (T) and the program's (C).

Messages are JSON lines on two pipes; a request may be answered by requests of its own (callbacks), so
both ends run the same loop. How values cross is in `exchange`, what an end holds for a handle in `proxies`.
A proxy equals only another proxy, after each has denied being equal to random values. T believes nothing that C
says of a sort or a name: an instance of a class that T did not ask for is a `th`, and a call across is the only
one that answers. What T once saw stays: C is gone, an object lied, an assertion failed where C could hide it.

Not covered: threads that call across at the same time; subclassing a remote class.
"""

from __future__ import annotations

import importlib
import os
import random
import threading
import types
from collections.abc import Callable
from typing import Any

from assay.sandbox.guest.relay import exceptions, sideeffects
from assay.sandbox.guest.relay.channel import PeerGone
from assay.sandbox.guest.relay.exchange import TESTS_FILE, Exchange, is_own
from assay.sandbox.guest.relay.mutable import is_mutable, refill
from assay.sandbox.guest.relay.operations import METADATA, NAMED, OPERATIONS, unsupported
from assay.sandbox.guest.values import codec

__all__ = ["TESTS_FILE", "LyingObject", "Peer", "PeerGone"]
_ENDS = ("next", "anext")
_LATER = ("anext", "aenter", "aexit")
_OF_A_MOCK = ("assert", "mock_", "method_calls", "reset_mock", "configure_mock", "attach_mock", "side_effect", "_")


class LyingObject(AssertionError):
    """An object claimed to equal a random sentinel."""


class Peer(Exchange):
    """One end of a relay."""

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
        """What the program did beside since the last answer (`sideeffects`): goes with it."""
        self.globals: Callable[[], dict[str, Any]] = dict
        """The program's global values that have changed since the last answer."""
        self.on_globals: Callable[[dict[str, Any]], None] = lambda changed: None
        """What the tests' end does with them."""
        self.lied = False
        self._lock = threading.RLock()
        self._loop: Any = None

    # -- asking ----------------------------------------

    def operate(self, name: str, handle: int, args: Any = (), keywords: Any = None) -> Any:
        """Apply an operation to an object of the other end."""
        request = {
            "q": "op",
            "n": name,
            "h": handle,
            "a": [self.encode(item) for item in args],
            "k": {key: self.encode(item) for key, item in (keywords or {}).items()},
        }
        return self.ask(request, [*args, *(keywords or {}).values()])

    def ask(self, request: Any, arguments: Any = ()) -> Any:
        """Send a request, serve what the other end asks meanwhile, and return or raise its answer."""
        with self._lock:
            if changed := self.changes():
                request = {**request, "l": changed}
            self.send(request)
            while "q" in (answer := self.receive()):
                self.send(self.serve(answer))
            if "stop" in answer and not (request["q"] == "op" and request["n"] in _ENDS):
                raise self.lose("only an iterator can stop")
            return self._conclude(request, answer, list(arguments))

    def _conclude(self, request: Any, answer: Any, arguments: list[Any]) -> Any:
        previous, self._arguments = self._arguments, arguments
        try:
            return self._read(request, answer, arguments)
        except (codec.Malformed, codec.TooLarge) as error:
            raise self.lose("not an answer") from error
        finally:
            self._arguments = previous

    def _read(self, request: Any, answer: Any, arguments: list[Any]) -> Any:
        error = None
        try:
            if not self.trusting and "o" in answer:
                sideeffects.replay(self.decode(answer["o"]))
            for index, form in answer.get("m", []):
                refill(arguments[index], self.decode(form))
            self.apply(answer.get("l", ()))
            if "g" in answer and not self.trusting:
                self.on_globals({str(name): self.decode(form) for name, form in answer["g"].items()})
            if "x" in answer:
                error = exceptions.build(answer["x"], self)
            elif "stop" in answer:
                end = self.decode(answer["stop"])
                error = StopAsyncIteration() if request["n"] == "anext" else StopIteration(end)
            else:
                return self.accept_live(answer.get("live"), self.decode(answer.get("r")))
        except (IndexError, TypeError, KeyError, AttributeError, ValueError) as fault:
            raise self.lose("not an answer") from fault
        raise error

    def check_honest(self, handle: int) -> None:
        """Raise `LyingObject` if the object claims to equal a value that nobody knows."""
        self.check_denies("eq", handle, like=0)

    def check_denies(self, name: str, handle: int, *, like: Any = "") -> None:
        """Raise `LyingObject` if the object says yes to random values; an exception of its is a no.

        A sentinel of text, then some like the one that it will be asked about: all of those it must not hold.
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

    def serve(self, request: Any) -> Any:
        """The answer to a request of the other end."""
        try:
            self.apply(request.get("l", ()))
            target = self._objects[request["h"]]
            args = [self.decode(form) for form in request.get("a", ())]
            keywords = {key: self.decode(form) for key, form in request.get("k", {}).items()}
        except (KeyError, TypeError, ValueError) as error:
            raise self.lose("not a request") from error
        given = [*args, *keywords.values()]
        before = [self._snapshot(item) for item in given]
        answer = self._answer(request, target, args, keywords)
        changed = [[i, now] for i, item in enumerate(given) if (now := self._snapshot(item)) != before[i]]
        if changed:
            answer["m"] = changed
        if live := self.changes():
            answer["l"] = live
        if changed_globals := self.globals():
            answer["g"] = {name: self.encode(item) for name, item in changed_globals.items()}
        if (done := self._done()) is not None:
            answer["o"] = self.encode(done)
        return answer

    def _answer(self, request: Any, target: Any, args: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        caught: tuple[type[BaseException], ...] = (Exception, SystemExit) if self.trusting else (Exception,)
        try:
            result = self._perform(request, target, args, keywords)
            answer: dict[str, Any] = {"r": self._result(result, [*args, *keywords.values()])}
            if (
                request["q"] == "get"
                and request["n"] not in METADATA
                and (number := self.offer_live(result)) is not None
            ):
                answer["live"] = number
            return answer
        except (StopIteration, StopAsyncIteration) as error:
            return dict(self._stopped(request, error))
        except (PeerGone, LyingObject):
            raise
        except caught as error:
            self.note_failure(error)
            return {"x": exceptions.encode(error, self)}

    def _stopped(self, request: Any, error: Exception) -> Any:
        if request["q"] == "op" and request["n"] in _ENDS:
            return {"stop": self.encode(getattr(error, "value", None))}
        return {"x": exceptions.encode(RuntimeError(*error.args), self)}

    def _perform(self, request: Any, target: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        what, name = request["q"], request["n"]
        if what == "op":
            return self._apply_operation(name, target, args, keywords)
        if what == "get" and name in METADATA and isinstance(target, types.FunctionType):
            return getattr(target, name)
        if not self.trusting and not self._offers(what, name, target):
            raise AttributeError(name)
        if what == "get":
            return getattr(target, name)
        if what == "await":
            return self._run(target)
        if what == "set":
            setattr(target, name, self.decode(request["v"]))
            return None
        delattr(target, name)
        return None

    def _apply_operation(self, name: str, target: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        offered = name not in NAMED and is_own(target, self._own_module)
        if not (self.trusting or offered or name in ("call", "next", "iter")):
            raise TypeError("not offered to the program")
        if name in _LATER and self.trusting:
            error = args[0] if args else None
            extra = (error and type(error), error, None) if name == "aexit" else ()
            return self._run(getattr(type(target), f"__{name}__")(target, *extra))
        operation: Callable[..., Any] = OPERATIONS.get(name, unsupported)
        return operation(target, *args, **keywords)

    def _offers(self, what: str, name: str, target: Any) -> bool:
        """Whether the tests' end lets the program use an attribute of `target`."""
        if name.startswith("_") or what == "await":
            return False
        if type(target).__module__ == "unittest.mock":
            return what == "get" and not name.startswith(_OF_A_MOCK)
        return is_own(target, self._own_module)

    def _run(self, coroutine: Any) -> Any:
        """Run a coroutine of the program on one loop, which keeps its generators and tasks alive."""
        if self._loop is None:
            asyncio = importlib.import_module("asyncio")
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(_awaited(coroutine))

    def _result(self, result: Any, given: list[Any]) -> Any:
        for index, item in enumerate(given):
            if item is result and is_mutable(item):
                return {"a": index}
        return self.encode(result)

    def _snapshot(self, value: Any) -> Any:
        """The form of a mutable container, to see whether a call changed it."""
        try:
            return self.encode(value) if is_mutable(value) else None
        except codec.TooLarge:
            return None


async def _awaited(thing: Any) -> Any:
    return await thing


def _random_like(value: Any, sign: int) -> Any:
    """A value of the same sort that nobody knows."""
    number = sign * (random.SystemRandom().getrandbits(40) * 2 + (1 << 40) + (sign > 0))
    if isinstance(value, bool) or value is None:
        return os.urandom(8).hex()
    if isinstance(value, (int, float, complex)):
        return type(value)(number) if type(value) in (int, float, complex) else number
    if isinstance(value, (tuple, list)):
        return type(value)(_random_like(item, sign) for item in value) if type(value) in (tuple, list) else number
    return os.urandom(8).hex() if sign > 0 else str(number)
