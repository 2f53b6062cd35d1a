"""What makes a fork of a warm interpreter cheap: nothing that is warm is ever written again.

A fork shares every page until one side writes it, and then pays for a copy of its own. Reference counts are
such writes: reading an object of the zygote changes its page. So all that is alive when the zygote has warmed
up becomes immortal (PEP 683): its count stays what it is, in the zygote and in every run. Nothing of it would
be freed in a run anyway, which ends by `os._exit`. And the collector forgets it (`gc.freeze`).

Not done where objects have another layout (debug and free-threaded builds): there forks only cost more.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import types
from typing import Any

_CODE_PARTS = ("co_consts", "co_names", "co_name", "co_qualname", "co_filename")


def settle() -> None:
    """Collect what is dead, make what is alive immortal, and stop the collector."""
    gc.disable()
    gc.collect()
    if _plain_layout():
        _immortalise(_reachable())
    gc.freeze()


def _plain_layout() -> bool:
    """Whether an object begins with a 32-bit count, and None's says that it is immortal."""
    plain = not hasattr(sys, "gettotalrefcount") and getattr(sys, "_is_gil_enabled", lambda: True)()
    return plain and sys.byteorder == "little" and sys.getrefcount(None) >= 1 << 30


def _reachable() -> dict[int, Any]:
    """By address, every object but frames, which come and go."""
    found: dict[int, Any] = {}
    left = gc.get_objects()
    while left:
        item = left.pop()
        if id(item) not in found and not isinstance(item, types.FrameType) and item is not left and item is not found:
            found[id(item)] = item
            left.extend(gc.get_referents(item))
            if isinstance(item, types.CodeType):
                left.extend(getattr(item, name) for name in _CODE_PARTS)
    return found


def _immortalise(objects: dict[int, Any]) -> None:
    immortal = ctypes.c_uint32.from_address(id(None)).value
    for address in objects:
        ctypes.c_uint32.from_address(address).value = immortal
