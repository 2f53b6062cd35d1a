"""One control group per jail: memory and number of tasks, where this process may make groups.

Version 1 (a folder per controller) and version 2 (one folder) behind one class. Groups are made
below the group that this process is in, so limits set from outside still bind. Their names carry
the pid and start time of the maker: `sweep` removes those whose maker is gone.
Not covered: CPU shares (a slot is one program at a time; wall time and RLIMIT_CPU bound it).
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.sandbox.errors import Unavailable

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "assay-"
_MEMORY_FILES_V1 = (
    "memory.max_usage_in_bytes",
    "memory.usage_in_bytes",
    "memory.stat",
    "memory.oom_control",
    "memory.kmem.usage_in_bytes",
)
_MEMORY_FILES_V2 = ("memory.peak", "memory.current", "memory.stat", "memory.events")
_NAME = re.compile(r"assay-(\d+)-(\d+)-")


@dataclass(frozen=True)
class Hierarchy:
    """Where groups can be made: controller -> parent folder. In version 2 all folders are one."""

    version: int
    parents: dict[str, Path]

    @property
    def folders(self) -> tuple[Path, ...]:
        """The distinct parent folders."""
        return tuple(dict.fromkeys(self.parents.values()))


def find(root: Path = _ROOT, own: Path = Path("/proc/self/cgroup")) -> Hierarchy | None:
    """The writable hierarchy of this host, or None where no group can be made."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return None
    return _find_v1(root, lines) or _find_v2(root, lines)


def _find_v1(root: Path, lines: list[list[str]]) -> Hierarchy | None:
    paths = {name: path for _, names, path in lines for name in names.split(",")}
    parents = {}
    for controller in ("memory", "pids"):
        mounted = root / controller
        inside = mounted / paths.get(controller, "/").lstrip("/")
        parent = inside if inside.is_dir() else mounted
        if not _can_make_groups(parent, f"{controller}." + ("max" if controller == "pids" else "oom_control")):
            return None
        parents[controller] = parent
    return Hierarchy(1, parents)


def _find_v2(root: Path, lines: list[list[str]]) -> Hierarchy | None:
    own = next((path for number, names, path in lines if number == "0" and not names), None)
    if own is None or not (root / "cgroup.controllers").exists():
        return None
    parent = root / own.lstrip("/")
    if not parent.is_dir():
        parent = root
    with contextlib.suppress(OSError):
        (parent / "cgroup.subtree_control").write_text("+memory +pids")
    if not _can_make_groups(parent, "memory.max"):
        return None
    return Hierarchy(2, {"memory": parent, "pids": parent})


def _can_make_groups(parent: Path, wanted_file: str) -> bool:
    probe = parent / f"{_PREFIX}{os.getpid()}-{_start_time(os.getpid())}-probe"
    try:
        probe.mkdir()
    except OSError:
        return False
    try:
        return (probe / wanted_file).exists() and os.access(probe / "cgroup.procs", os.W_OK)
    finally:
        probe.rmdir()


def memory_limit(root: Path = _ROOT, own: Path = Path("/proc/self/cgroup"), total: Path = Path("/proc/meminfo")) -> int:
    """Return the bytes of memory that this process and its children may use: the least limit, or the host's."""
    limits = [int(total.read_text().split()[1]) << 10]
    with contextlib.suppress(OSError):
        for _, names, path in (line.split(":", 2) for line in own.read_text().splitlines()):
            if not names or "memory" in names.split(","):
                limits += _limits_above(root / names if names else root, path)
    return min(limits)


def _limits_above(mounted: Path, path: str) -> Iterator[int]:
    inside = mounted / path.lstrip("/")
    for folder in (inside, *inside.parents):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError):
                yield int((folder / name).read_text())
        if folder == mounted:
            return


def kills_here(root: Path = _ROOT, own: Path = Path("/proc/self/cgroup")) -> int:
    """Return how many processes of this process's own group, or of groups below, the kernel has killed for memory."""
    with contextlib.suppress(OSError):
        for _, names, path in (line.split(":", 2) for line in own.read_text().splitlines()):
            file = "memory.events" if not names else "memory.oom_control"
            if not names or "memory" in names.split(","):
                inside = (root / names if names else root) / path.lstrip("/")
                with contextlib.suppress(OSError):
                    return _oom_kills((inside / file).read_text())
    return 0


def _oom_kills(text: str) -> int:
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill ")), 0)


def _start_time(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return -1
    return int(stat.rpartition(")")[2].split()[19])


class Group:
    """The control group of one jail."""

    def __init__(self, hierarchy: Hierarchy, label: str) -> None:
        self._v1 = hierarchy.version == 1
        name = f"{_PREFIX}{os.getpid()}-{_start_time(os.getpid())}-{label}"
        self._folders = {controller: parent / name for controller, parent in hierarchy.parents.items()}
        self._limits = (0, 0)
        for folder in dict.fromkeys(self._folders.values()):
            try:
                folder.mkdir()
            except OSError as error:
                raise Unavailable(f"cannot make control group {folder}: {error.strerror}") from error

    def join_files(self) -> tuple[str, ...]:
        """Files into which a process writes `0` to enter the group."""
        return tuple(str(folder / "cgroup.procs") for folder in dict.fromkeys(self._folders.values()))

    def limit(self, *, memory_bytes: int, tasks: int) -> None:
        """Set the limits of the group; swap is never allowed where the kernel accounts for it."""
        if (memory_bytes, tasks) == self._limits:
            return
        memory = self._folders["memory"]
        if self._v1:
            self._limit_v1(memory, memory_bytes)
        else:
            (memory / "memory.max").write_text(str(memory_bytes))
            with contextlib.suppress(OSError):
                (memory / "memory.swap.max").write_text("0")
        (self._folders["pids"] / "pids.max").write_text(str(tasks))
        self._limits = (memory_bytes, tasks)

    @staticmethod
    def _limit_v1(folder: Path, value: int) -> None:
        both = [folder / "memory.memsw.limit_in_bytes", folder / "memory.limit_in_bytes"]
        for order in (both, both[::-1]):  # raising needs memsw first, lowering last
            for file in order:
                with contextlib.suppress(OSError):
                    file.write_text(str(value))
        if int((folder / "memory.limit_in_bytes").read_text()) > value:
            raise Unavailable(f"the kernel did not take the memory limit of {folder}")

    def oom_kills(self) -> int:
        """How many processes of the group the kernel has killed for memory so far."""
        file = "memory.oom_control" if self._v1 else "memory.events"
        try:
            text = (self._folders["memory"] / file).read_text()
        except OSError:
            return 0
        return _oom_kills(text)

    def memory_descriptors(self) -> list[int]:
        """Open the files that `charge.Charge` reads; the caller closes them. Empty where the kernel lacks one."""
        names = _MEMORY_FILES_V1 if self._v1 else _MEMORY_FILES_V2
        opened: list[int] = []
        try:
            for name in names:
                writes = name == names[0]
                flags = (os.O_RDWR if writes else os.O_RDONLY) | os.O_CLOEXEC
                opened.append(os.open(self._folders["memory"] / name, flags))
        except OSError:
            for fd in opened:
                os.close(fd)
            return []
        return opened

    def pids(self) -> list[int]:
        """Processes in the group, by the host's numbers."""
        try:
            return [int(pid) for pid in (self._folders["pids"] / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def destroy(self, *, patience_s: float = 5.0) -> bool:
        """Kill what is left and remove the group. False if something would not die."""
        deadline = time.monotonic() + patience_s
        while True:
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if all(_removed(folder) for folder in self._folders.values()):
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def sweep(hierarchy: Hierarchy) -> int:
    """Kill and remove groups whose maker is gone; returns how many were found."""
    found = 0
    for parent in hierarchy.folders:
        for folder in list(parent.glob(f"{_PREFIX}*")):
            match = _NAME.match(folder.name)
            if match is None or _start_time(int(match[1])) == int(match[2]):
                continue
            found += 1
            _kill_folder(folder)
    return found


def _kill_folder(folder: Path) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError):
            for pid in (folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        if _removed(folder):
            return
        time.sleep(0.005)
