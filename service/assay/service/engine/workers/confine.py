"""Drop the privileges that a lane does not need, as it parses text that a model wrote.

In this order: memory and process limits, its own uid (as root, where that uid can still read the
interpreter) or at least no capabilities, death with its parent, no new privileges, landlock (reads only
below the interpreter's and the plugins' folders, writes nowhere), seccomp (`lane.syscalls`).

Not covered: other architectures than x86-64 get no seccomp filter, kernels before 5.13 no landlock; `confine` returns
the names of the layers that hold, and the lane reports them at start. Memory that the lane can read stays readable.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

from assay.sandbox.host.seccomp import assemble, parse_profile

FIRST_UID = 61_200
MIB = 1024 * 1024

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 38, 22, 24
_SECCOMP_MODE_FILTER = 2
_CAPSET, _LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 126, 444, 445, 446
_FS_EXECUTE, _FS_READ_FILE, _FS_READ_DIR = 1, 1 << 2, 1 << 3
_FS_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}


def confine(*, number: int, memory_mb: int, readable: Iterable[Path] = (), sandbox: bool = False) -> tuple[str, ...]:
    """Drop what a lane does not need; return what is in force. Raises OSError if a layer fails."""
    held = ["rlimits", _become(FIRST_UID + number)]
    _limit(memory_mb)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if _landlock([*_interpreter_folders(), *readable]):
        held.append("landlock")
    if platform.machine() == "x86_64":
        _seccomp(["lane.syscalls", *(["lane-sandbox.syscalls"] if sandbox else [])])
        held.append("seccomp")
    return tuple(held)


def _limit(memory_mb: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb * MIB, memory_mb * MIB))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (memory_mb * MIB, memory_mb * MIB))  # memfds count against it


def _become(uid: int) -> str:
    """Take a uid of its own where root and where that uid can still import; else drop all capabilities."""
    if os.geteuid() != 0:
        return "caller-uid"
    if all(_reachable(folder) for folder in _interpreter_folders()):
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        return "own-uid"
    header = struct.pack("=Ii", 0x20080522, 0)
    if _libc.syscall(_CAPSET, header, bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capset")
    return "no-capabilities"


def _reachable(folder: Path) -> bool:
    """Return whether another user may read the folder: every parent can be entered."""
    resolved = folder.resolve()
    return all(p.stat().st_mode & 0o001 for p in (resolved, *resolved.parents))


def _interpreter_folders() -> Iterator[Path]:
    names = {sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), *sys.path}
    for folder in sorted(Path(name) for name in names if name):
        if folder.is_dir():
            yield folder


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def _landlock(folders: list[Path]) -> bool:
    """Restrict every file access right that this kernel knows; allow reading below `folders` and in /dev, /lib."""
    abi = _libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if abi < 1:
        return False
    rights = max(mask for version, mask in _FS_RIGHTS_BY_ABI.items() if version <= abi)
    attributes = struct.pack("=Q", rights)
    ruleset = _libc.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    system = [Path(p) for p in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache",
                                "/dev/null", "/dev/urandom")]  # fmt: skip
    for path in [*folders, *system]:
        if path.exists():
            _allow_reading(ruleset, path)
    if _libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    os.close(ruleset)
    return True


def _allow_reading(ruleset: int, path: Path) -> None:
    rights = _FS_READ_FILE | (_FS_READ_DIR | _FS_EXECUTE if path.is_dir() else 0)
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if _libc.syscall(_LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", rights, fd), 0) != 0:
            raise OSError(ctypes.get_errno(), f"landlock_add_rule {path}")
    finally:
        os.close(fd)


def _seccomp(policies: list[str]) -> None:
    folder = files(__package__)
    program = assemble(parse_profile("".join(folder.joinpath(name).read_text() for name in policies)))
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("=HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
