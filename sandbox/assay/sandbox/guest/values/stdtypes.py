"""Value types of the standard library that cross a border by content, and names that cross as names.

Encoding uses the types' own methods on exact instances only; decoding builds them from bounded plain
parts. A builtin crosses by name: towards the tests only types and exceptions do.
"""

from __future__ import annotations

import array
import builtins
import collections
import datetime
import decimal
import fractions
import importlib
import keyword
import pathlib
import re
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable
from functools import cache
from typing import Any

from assay.sandbox.guest.values import tables

Encode = Callable[[Any], Any]

_FACTORIES: dict[Any, Any] = {kind.__name__: kind for kind in (list, dict, set, int, float, str, bool, tuple)}


def _factory_name(factory: Any) -> str | None:
    return next((name for name, kind in _FACTORIES.items() if kind is factory), None)


_TO_PARTS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    decimal.Decimal: ("decimal", str),
    fractions.Fraction: ("fraction", lambda v: [v.numerator, v.denominator]),
    datetime.datetime: ("datetime", lambda v: _moment_parts(v)),
    datetime.date: ("date", datetime.date.isoformat),
    datetime.time: ("time", lambda v: _moment_parts(v)),
    datetime.timezone: ("timezone", lambda v: _timezone_parts(v)),
    zoneinfo.ZoneInfo: ("zoneinfo", lambda v: v.key),
    re.Pattern: ("pattern", lambda v: [v.pattern, v.flags]),
    datetime.timedelta: ("timedelta", lambda v: [v.days, v.seconds, v.microseconds]),
    range: ("range", lambda v: [v.start, v.stop, v.step]),
    slice: ("slice", lambda v: [v.start, v.stop, v.step]),
    collections.deque: ("deque", lambda v: [list(v), v.maxlen]),
    collections.Counter: ("counter", lambda v: dict(v)),
    collections.OrderedDict: ("ordered", lambda v: list(v.items())),
    collections.defaultdict: ("defaultdict", lambda v: [_factory_name(v.default_factory), dict(v)]),
    types.MappingProxyType: ("mappingproxy", lambda v: dict(v)),
    type({}.keys()): ("keys", list),
    type({}.values()): ("values", list),
    type({}.items()): ("items", list),
    pathlib.PosixPath: ("path", str),
    pathlib.PurePosixPath: ("purepath", str),
    uuid.UUID: ("uuid", lambda v: v.int),
    array.array: ("arr", lambda v: [v.typecode, v.tolist()]),
    type(NotImplemented): ("notimplemented", lambda v: None),
    type(...): ("ellipsis", lambda v: None),
}
_FROM_PARTS: dict[str, Callable[[Any], Any]] = {
    "decimal": decimal.Decimal,
    "fraction": lambda p: fractions.Fraction(*p),
    "datetime": lambda p: _moment(datetime.datetime, p),
    "date": datetime.date.fromisoformat,
    "time": lambda p: _moment(datetime.time, p),
    "timezone": lambda p: _timezone(p),
    "zoneinfo": lambda p: zoneinfo.ZoneInfo(str(p)),
    "pattern": lambda p: re.compile(p[0], p[1]),
    "timedelta": lambda p: datetime.timedelta(*p),
    "range": lambda p: range(*p),
    "slice": lambda p: slice(*p),
    "deque": lambda p: collections.deque(*p),
    "counter": collections.Counter,
    "ordered": collections.OrderedDict,
    "defaultdict": lambda p: collections.defaultdict(_FACTORIES.get(p[0]), p[1]),
    "mappingproxy": lambda p: types.MappingProxyType(dict(p)),
    "keys": lambda p: dict.fromkeys(p).keys(),
    "values": lambda p: dict(enumerate(p)).values(),
    "items": lambda p: dict(p).items(),
    "path": lambda p: pathlib.PosixPath(p),
    "purepath": lambda p: pathlib.PurePosixPath(p),
    "uuid": lambda p: uuid.UUID(int=p),
    "arr": lambda p: array.array(str(p[0]), p[1]),
    "notimplemented": lambda p: NotImplemented,
    "ellipsis": lambda p: ...,
    **tables.DECODERS,
}
_SHARED = """
abc array bisect calendar cmath collections collections.abc contextlib copy dataclasses datetime decimal enum
fractions functools hashlib heapq itertools json math numbers random re statistics string struct textwrap time
typing uuid
"""
SHARED_MODULES = frozenset(_SHARED.split())
"""Modules whose types and functions tests may use because the program imported them: the tests' own copy.

None that gives a hold on the interpreter. A module or function is shared under its own name alone, since under
another it is the program's answer (`from sys import exit as get`); such functions run over there.
"""
_NO_EXCEPTIONS_OF = frozenset({"unittest", "doctest", "bdb", "pdb", "test"})
_NEVER = (SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, StopAsyncIteration)


_NEEDS_PARTS = frozenset({"zoneinfo", "datetime", "time"})
"""Types of which some instances have no parts: a zone read from a file, a time in a zone of the program's own."""


def _moment_parts(value: Any) -> Any:
    """[naive ISO text, zone, fold], or None where the zone is of a class of the program's own."""
    zone = value.tzinfo
    if zone is not None and type(zone) not in (datetime.timezone, zoneinfo.ZoneInfo):
        return None
    return [value.replace(tzinfo=None).isoformat(), zone, value.fold]


def _moment(kind: Any, parts: Any) -> Any:
    text, zone, fold = parts
    return kind.fromisoformat(text).replace(tzinfo=zone, fold=fold)


def _timezone_parts(value: datetime.timezone) -> Any:
    """[offset, name or None]; a name that says no more than the offset is left out."""
    offset, name = value.utcoffset(None), value.tzname(None)
    return [offset, None if name == datetime.timezone(offset).tzname(None) else name]


def _timezone(parts: Any) -> datetime.timezone:
    offset, name = parts
    return datetime.timezone(offset) if name is None else datetime.timezone(offset, name)


def encode_parts(parts: Any, encode: Encode) -> Any:
    """The form of the parts of a value: lists and dicts made for the purpose by structure, all else by `encode`."""
    if type(parts) is list:
        return [encode_parts(part, encode) for part in parts]
    if type(parts) is dict:
        return {"d": [[encode(key), encode(item)] for key, item in parts.items()]}
    return encode(parts)


def encode_value(value: Any, encode: Encode) -> Any:
    """The form of an exact instance of a known value type, or None."""
    entry = _TO_PARTS.get(type(value))
    if entry is None:
        return tables.encode(value, lambda parts: encode_parts(parts, encode))
    parts = entry[1](value)
    return None if parts is None and entry[0] in _NEEDS_PARTS else {"D": [entry[0], encode_parts(parts, encode)]}


def encode_namedtuple(value: Any, encode: Encode) -> Any:
    """The form of an instance of a namedtuple class, or None."""
    fields = getattr(type(value), "_fields", None)
    if not isinstance(value, tuple) or type(fields) is not tuple or not all(type(f) is str for f in fields):
        return None
    return {"n": [type(value).__name__, list(fields), [encode(item) for item in tuple.__iter__(value)]]}


def decode_value(tag: str, body: Any, decode: Callable[[Any], Any]) -> Any:
    """The value behind a form of `encode_value` or `encode_namedtuple`. Raises `ValueError`."""
    try:
        if tag == "D":
            return _FROM_PARTS[body[0]](decode(body[1]))
        name, fields, items = body
        made = _namedtuple(str(name), tuple(fields))(*(decode(item) for item in items))
        if any(name in fields and callable(getattr(made, name)) for name in ("count", "index")):
            raise ValueError("a field that would be called for a method of ours")
        return made
    except (TypeError, KeyError, ArithmeticError, IndexError, AttributeError, ImportError) as error:
        raise ValueError("not an encoded value") from error


_PLAIN_NAMEDTUPLE = frozenset(vars(collections.namedtuple("_plain", ""))) | {"__annotations__", "__orig_bases__"}


def is_namedtuple(kind: type) -> bool:
    """Whether the class is a namedtuple and nothing else: its instances cross by content."""
    fields = kind.__dict__.get("_fields")
    if not issubclass(kind, tuple) or type(fields) is not tuple:
        return False
    return set(vars(kind)) <= _PLAIN_NAMEDTUPLE | set(fields)


def namedtuple_class(name: Any, fields: Any) -> Any:
    """Our own class of that shape. Raises `ValueError`."""
    if not isinstance(name, str) or not isinstance(fields, list) or not all(isinstance(f, str) for f in fields):
        raise ValueError("not a namedtuple")
    return _namedtuple(name, tuple(fields))


@cache
def _namedtuple(name: str, fields: tuple[str, ...]) -> Any:
    usable = name if name.isidentifier() and not keyword.iskeyword(name) else "tuple_"
    return collections.namedtuple(usable, fields, rename=True)


def builtin_name(value: Any) -> str | None:
    """The name under which `value` is a builtin, or None."""
    name = getattr(value, "__name__", None) if isinstance(value, (type, type(len))) else None
    return name if isinstance(name, str) and getattr(builtins, name, None) is value else None


def builtin_type(name: Any) -> Any:
    """The builtin type or exception of that name. Raises `ValueError`."""
    value = getattr(builtins, name, None) if isinstance(name, str) else None
    if not isinstance(value, type):
        raise ValueError("not a builtin type")
    return value


def shared_name(value: Any, name: str) -> list[str] | None:
    """[module] or [module, name] under which the program's `name` is found in a shared module, or None."""
    path = library_name(value)
    if path is None or path[0] not in SHARED_MODULES or _is_context(value):
        return None
    return path if isinstance(value, type) or path[-1].rpartition(".")[2] == name else None


def _is_context(value: Any) -> bool:
    """Return whether it makes context managers: one such as `suppress` would hide a failure of the tests."""
    return isinstance(value, type) and (hasattr(value, "__exit__") or hasattr(value, "__aexit__"))


def library_name(value: Any) -> list[str] | None:
    """[module] or [module, name] under which `value` is found in the standard library, or None."""
    if isinstance(value, type(sys)):
        name = value.__name__
        return [name] if name.partition(".")[0] in sys.stdlib_module_names else None
    module, found = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not (isinstance(module, str) and isinstance(found, str)) or found.startswith("_"):
        return None
    if module.partition(".")[0] not in sys.stdlib_module_names or module == "__main__":
        return None
    return [module, found] if getattr(sys.modules.get(module), found, None) is value else None


def resolve_shared(path: Any, name: str) -> Any:
    """What `shared_name` named for `name`. Raises `ValueError`."""
    if not (isinstance(path, list) and 1 <= len(path) <= 2 and all(isinstance(part, str) for part in path)):
        raise ValueError("not a shared name")
    if path[0] not in SHARED_MODULES or path[-1].startswith("_"):
        raise ValueError("not a shared name")
    value: Any = importlib.import_module(path[0])
    if len(path) == 2:
        value = getattr(value, path[1], None)
    if shared_name(value, name) != path:
        raise ValueError("not a shared name")
    return value


def exception_names(kind: type[BaseException]) -> list[list[str]]:
    """[module, name] of the class and its bases, nearest first, as far as the standard library has them."""
    return [[base.__module__, base.__qualname__] for base in kind.__mro__ if issubclass(base, BaseException)]


def resolve_exception(names: Any) -> type[Exception]:
    """The nearest class that may be raised among tests; never one that skips, exits or stops iteration."""
    for entry in names if isinstance(names, list) else ():
        found = _exception(entry)
        if found is not None:
            return found
    return RuntimeError


def _exception(entry: Any) -> type[Exception] | None:
    if not (isinstance(entry, list) and len(entry) == 2 and all(isinstance(part, str) for part in entry)):
        return None
    module, name = entry
    top = module.partition(".")[0]
    if top in _NO_EXCEPTIONS_OF or top not in sys.stdlib_module_names | {"builtins"} or not name.isidentifier():
        return None
    found = getattr(builtins if module == "builtins" else _loaded(module), name, None)
    if isinstance(found, type) and issubclass(found, BaseException):
        if issubclass(found, _NEVER) or not issubclass(found, Exception):
            return RuntimeError
        return found
    return None


def _loaded(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
