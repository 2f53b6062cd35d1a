"""Operations that one end of a relay asks the other to apply to its objects, by name.

Most are those of a special method; those in `NAMED` are asked for by library functions of the tests' end.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import operator
import os
from collections.abc import Callable
from typing import Any


def unsupported(*_: Any) -> Any:
    """What an operation that does not exist does."""
    raise TypeError("unsupported operation")


def _reflected(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda mine, other: operation(other, mine)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "len": len, "bool": bool, "str": str, "repr": repr, "hash": hash, "int": int, "float": float,
    "complex": complex, "abs": abs, "round": round, "iter": iter, "next": next, "reversed": reversed,
    "format": format, "call": lambda target, *args, **keywords: target(*args, **keywords),
    "dir": dir, "bytes": bytes, "fspath": os.fspath, "fields": dataclasses.fields,
    "divmod": divmod, "rdivmod": lambda a, b: divmod(b, a),
    "enter": lambda target: type(target).__enter__(target),
    "exit": lambda target, error: type(target).__exit__(target, error and type(error), error, None),
    "contains": operator.contains, "getitem": operator.getitem, "setitem": operator.setitem,
    "delitem": operator.delitem, "index": operator.index,
    **{name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: getattr(operator, name) for name in ("neg", "pos", "invert")},
    "copy": copy.copy, "deepcopy": copy.deepcopy, "asdict": dataclasses.asdict, "astuple": dataclasses.astuple,
    "replace": lambda target, **changes: dataclasses.replace(target, **changes),
    "is_dataclass": dataclasses.is_dataclass,
    "signature": lambda target: [
        [each.name, int(each.kind), each.default is not each.empty, repr(each.default)]
        for each in inspect.signature(target).parameters.values()
    ],
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
OPERATIONS["send"] = lambda generator, value: generator.send(value)
OPERATIONS["throw"] = lambda generator, error: generator.throw(error)
OPERATIONS["pow"] = pow  # with three arguments too, which `operator.pow` does not take
METADATA = (
    "__name__",
    "__qualname__",
    "__doc__",
    "__annotations__",
    "__module__",
    "__defaults__",
    "__kwdefaults__",
    "__code__",
    "__wrapped__",
    "__dict__",
)
"""Attributes of functions that each end tells the other; of them the tests' end gives only those in `TOLD`."""
TOLD = ("__name__", "__qualname__", "__doc__", "__annotations__")
NAMED = ("copy", "deepcopy", "asdict", "astuple", "replace", "is_dataclass", "fields", "signature")
"""Operations that are asked for by name: of the program's objects, never of the tests'."""


def special(name: str) -> str:
    """The special method of an operation: `and_` -> `__and__`."""
    return f"__{name.rstrip('_')}__"
