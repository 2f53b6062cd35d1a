"""Make forks of a warm interpreter cheap: no memory page of the warm state is written again.

A fork shares every page until one side writes it, which makes a copy. Reference counts are such writes: reading an
object of the zygote changes its page. So every object that exists once the zygote is warm becomes immortal (PEP 683):
its count no longer changes, in the zygote or in a run. A run would not free it anyway, since it ends by `os._exit`.
The garbage collector ignores it too (`gc.freeze`).

Not covered: builds whose objects have another layout (debug, free-threaded); there a run only costs more.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import types

_IMMORTAL_FROM = 1 << 30
"""Every immortal object's count is above this, in each version that has them."""
_CODE_PARTS = ("co_consts", "co_names", "co_name", "co_qualname", "co_filename")


def settle() -> None:
    """Collect garbage, make all remaining objects immortal, and stop the collector."""
    gc.disable()
    gc.collect()
    if _known_layout():
        _immortalise()
    gc.freeze()


def _known_layout() -> bool:
    """Whether an object begins with a 32-bit count, and None's says that it is immortal."""
    plain = not hasattr(sys, "gettotalrefcount") and getattr(sys, "_is_gil_enabled", lambda: True)()
    return plain and sys.byteorder == "little" and sys.getrefcount(None) >= _IMMORTAL_FROM


def _immortalise() -> None:
    """Every object that can be reached, but frames, which come and go: a visited one is known by its count."""
    immortal = ctypes.c_uint32.from_address(id(None)).value
    left = gc.get_objects()
    while left:
        item = left.pop()
        if item is left or isinstance(item, types.FrameType) or sys.getrefcount(item) >= _IMMORTAL_FROM:
            continue
        ctypes.c_uint32.from_address(id(item)).value = immortal
        left.extend(gc.get_referents(item))
        if isinstance(item, types.CodeType):
            left.extend(getattr(item, name) for name in _CODE_PARTS)
