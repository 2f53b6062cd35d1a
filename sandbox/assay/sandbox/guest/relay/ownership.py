"""What the tests' end lets the program use: its own objects and callables, and some objects of the standard library."""

from __future__ import annotations

import builtins
import collections
import functools
import io
import queue
import random
import threading
import types
from typing import Any

TESTS_FILE = "<tests>"
"""The file name of code that is the tests' own."""
SHARED_TYPES: dict[str, type] = {
    f"{kind.__module__}.{kind.__qualname__}": kind
    for kind in (
        random.Random,
        queue.Queue,
        queue.LifoQueue,
        queue.PriorityQueue,
        queue.SimpleQueue,
        threading.Event,
        threading.Condition,
        threading.Semaphore,
        threading.BoundedSemaphore,
        threading.Barrier,
        type(threading.Lock()),
        type(threading.RLock()),
        types.SimpleNamespace,
        io.StringIO,
        io.BytesIO,
        collections.ChainMap,
        collections.UserDict,
        collections.UserList,
        collections.UserString,
    )
}
"""Types of the standard library whose instances each end may use at the other."""
_SHARED = frozenset(SHARED_TYPES.values())
_MADE_BY_TESTS = frozenset({"functools", "operator", "_operator", "unittest", "numpy"})
"""Modules whose callable objects test code makes and passes on: `partial`, `itemgetter`, `Mock`, ufuncs."""
_Cached = type(functools.lru_cache(len))
_HARMLESS_BUILTINS = """
abs all any ascii bin callable chr divmod format hash hex id isinstance issubclass iter len max min next oct ord pow
repr round sorted sum
"""
HARMLESS_BUILTINS = frozenset(_HARMLESS_BUILTINS.split())
"""Builtin functions without effects, which may cross by name."""


def shared_type_name(value: Any) -> str:
    """Return the name in `SHARED_TYPES` of the type of `value`, or an empty text."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}" if kind in _SHARED else ""


def is_own(value: Any, own_module: str) -> bool:
    """Return whether an object is one that test code made for the program to use."""
    kind = type(value)
    return kind.__module__ == own_module or kind in _SHARED


def may_be_called(value: Any, own_module: str) -> bool:
    """Return whether the tests may pass a callable to the program: functions, classes and objects of their own."""
    if isinstance(value, types.FunctionType):
        inner = getattr(value, "__wrapped__", value)
        return isinstance(inner, types.FunctionType) and inner.__code__.co_filename == TESTS_FILE
    if isinstance(value, types.MethodType):
        return type(value.__self__) in _SHARED or may_be_called(value.__func__, own_module)
    if isinstance(value, types.BuiltinMethodType):
        return not isinstance(value.__self__, (types.ModuleType, type, type(None)))
    if isinstance(value, type):
        return value.__module__ == own_module
    if isinstance(value, _Cached):
        return may_be_called(value.__wrapped__, own_module)
    return type(value).__module__.partition(".")[0] in _MADE_BY_TESTS | {own_module}


def builtin_named(name: Any) -> Any:
    """Return the builtin type, exception or harmless function of that name. Raises `ValueError`."""
    value = getattr(builtins, name, None) if isinstance(name, str) else None
    if not isinstance(value, type) and name not in HARMLESS_BUILTINS:
        raise ValueError("not a builtin that crosses")
    return value
