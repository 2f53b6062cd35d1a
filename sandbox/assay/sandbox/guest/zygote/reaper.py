"""The machine code of a run's pid 1, which reaps orphans. Standard library only."""

from __future__ import annotations

import ctypes
import mmap
import signal
import struct

_KEPT: list[mmap.mmap] = []
"""The page of the reaper: never freed."""


def reaper() -> ctypes.c_void_p:
    """Return the code of a run's pid 1: for ever wait for SIGCHLD (which is blocked), then reap all that have ended.

    Reaped orphans are thereby accounted for: their CPU time is in the usage of pid 1. Where SIGCHLD is ignored the
    kernel discards it. Machine code (x86-64, as the seccomp profile), because pid 1 shares the zygote's memory and
    must not run the interpreter.
    """
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    set_at = mmap.PAGESIZE // 2
    page[set_at : set_at + 8] = struct.pack("=Q", 1 << (signal.SIGCHLD - 1))
    wait = b"".join(
        (
            b"\x48\xbf" + struct.pack("=Q", start + set_at),  # mov rdi, &set
            b"\x31\xf6\x31\xd2",  # xor esi, esi; xor edx, edx
            b"\x41\xba\x08\x00\x00\x00",  # mov r10d, 8
            b"\xb8\x80\x00\x00\x00\x0f\x05",  # rt_sigtimedwait(&set, NULL, NULL, 8)
        )
    )
    reap = b"".join(
        (
            b"\x48\xc7\xc7\xff\xff\xff\xff",  # mov rdi, -1
            b"\x31\xf6",  # xor esi, esi
            b"\xba\x01\x00\x00\x40",  # mov edx, WNOHANG | __WALL
            b"\x45\x31\xd2",  # xor r10d, r10d
            b"\xb8\x3d\x00\x00\x00\x0f\x05",  # wait4(-1, NULL, WNOHANG | __WALL, NULL)
            b"\x85\xc0",  # test eax, eax
        )
    )
    again = b"\x7f" + struct.pack("=b", -(len(reap) + 2))  # jg: one was reaped, perhaps there are more
    code = wait + reap + again
    page[: len(code) + 2] = code + b"\xeb" + struct.pack("=b", -(len(code) + 2))  # jmp: wait again
    _KEPT.append(page)
    return ctypes.c_void_p(start)
