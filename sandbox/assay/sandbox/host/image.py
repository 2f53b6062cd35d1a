"""Build what jails see as their root: a copy of the interpreter, a skeleton of folders, the system folders.

Everything lies under one state folder that only its owner can write and every uid can read, since
jails run under other uids and cannot pass a 0700 folder such as /root (`parts` builds, holds and sweeps it).

    STATE/python-<digest>/   bin, lib and the shared libraries of this interpreter, without site-packages
    STATE/root-<digest>/     the skeleton: /assay (guest code, filter), /box, /dev, /etc, mount points

Not covered: interpreters without a file tree of their own (zipapps, frozen ones).
"""

from __future__ import annotations

import compileall
import contextlib
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from assay.sandbox.errors import Unavailable
from assay.sandbox.host import seccomp
from assay.sandbox.host.parts import part, sweep

_LEFT_OUT = shutil.ignore_patterns(
    "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo", "turtle.py",
    "ensurepip", "lib2to3", "pydoc_data", "_tkinter*", "config-*", "sitecustomize.py", "EXTERNALLY-MANAGED",
)  # fmt: skip
_WHEEL_LIBRARIES = (
    "libgcc_s.so.1", "libstdc++.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1", "libz.so.1",
    "libexpat.so.1", "libresolv.so.2",
)  # fmt: skip
"""What wheels may count on (the manylinux policies), whether or not the interpreter itself needs it."""
_GUEST_SUFFIXES = (".py",)
_LOCALE = Path("/usr/lib/locale/C.utf8")
"""The locale of programs (LANG), which `setlocale` reads."""
_PASSWD = "user:x:1000:1000:user:/box/w:/bin/sh\n"
DEVICES = ("null", "zero", "full", "random", "urandom")
_LINKS = {
    "tmp": "/box/tmp", "var/tmp": "/box/tmp", "dev/shm": "/box/shm", "dev/fd": "/proc/self/fd",
    "dev/stdin": "/proc/self/fd/0", "dev/stdout": "/proc/self/fd/1", "dev/stderr": "/proc/self/fd/2",
}  # fmt: skip
SYSTEM_FOLDERS = ("usr", "lib", "lib32", "lib64", "libx32", "bin", "sbin")
"""Folders of the host that hold its toolchains: bound read-only where a jail needs them."""
SYSTEM_ETC = ("alternatives", "ld.so.cache", "java-17-openjdk", "java-21-openjdk", "mono", "R", "php")
MASKED = ("usr/local", "usr/src", "usr/games")
"""Parts of those folders that are hidden: what an operator puts there may be private."""


def default_state_dir() -> Path:
    """A folder that other uids can traverse: /var/tmp/assay-<uid>."""
    return Path("/var/tmp") / f"assay-{os.getuid()}"


def open_state_dir(path: Path) -> Path:
    """Create the state folder or check that only this user can write it. Raises `Unavailable`."""
    path.mkdir(mode=0o755, parents=True, exist_ok=True)
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o022:
        raise Unavailable(f"state folder {path} must be a folder of uid {os.getuid()} that no other can write")
    return path


@dataclass(frozen=True, kw_only=True)
class Image:
    """The built parts, and a digest of everything that a program could notice of them."""

    python: Path
    root: Path
    empty: Path
    """An empty folder: the second layer that an overlay needs."""
    executable: str
    """Path of the interpreter inside the jail."""
    loader: str
    """File name of the dynamic linker in the interpreter's `shared` folder."""
    library_folders: tuple[str, ...]
    """Where inside a jail without the host's folders the shared libraries must appear."""
    fingerprint: str


def build(state: Path) -> Image:
    """Build (or find) the interpreter and the skeleton under `state`. Takes seconds the first time."""
    sweep(state)
    source = _Interpreter()
    known = _known_facts(state, source)
    python = part(state, f"python-{known.digest[:16]}", source.copy_to)
    skeleton_digest = _skeleton_digest(known.library_folders)
    root = part(state, f"root-{skeleton_digest[:16]}", lambda top: _build_skeleton(top, known.library_folders))
    return Image(
        python=python,
        root=root,
        empty=part(state, "root-empty", lambda top: None),
        executable=f"/opt/python/bin/{source.name}",
        loader=known.loader,
        library_folders=known.library_folders,
        fingerprint=hashlib.sha256(f"{known.digest}{skeleton_digest}".encode()).hexdigest(),
    )


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """What takes a second to find out about an interpreter, kept in the state folder."""

    digest: str
    loader: str
    library_folders: tuple[str, ...]


def _known_facts(state: Path, source: _Interpreter) -> _Facts:
    file = state / f"interpreter-{source.identity}.json"
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        fields = json.loads(file.read_text())
        return _Facts(**{**fields, "library_folders": tuple(fields["library_folders"])})
    facts = _Facts(digest=source.digest, loader=source.loader, library_folders=source.library_folders)
    aside = file.with_suffix(f".{os.getpid()}")
    aside.write_text(json.dumps(asdict(facts)))
    aside.rename(file)
    return facts


class _Interpreter:
    """The files of the running interpreter, and how to copy them."""

    def __init__(self) -> None:
        self.executable = Path(os.path.realpath(sys.executable))
        self.name = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.stdlib = Path(sysconfig.get_paths(vars={"installed_base": sys.base_prefix})["stdlib"])

    @property
    def identity(self) -> str:
        """Changes when the interpreter is replaced: paths, sizes and times of its files."""
        stats = [os.stat(path) for path in (self.executable, self.stdlib, self.stdlib / "lib-dynload")]
        parts = [
            "layout 4",
            str(self.executable),
            sys.version,
            *(f"{info.st_size}:{info.st_mtime_ns}" for info in stats),
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @cached_property
    def libraries(self) -> tuple[tuple[Path, str], ...]:
        """Shared libraries of the interpreter and its extension modules: (host file, name)."""
        found: dict[str, Path] = {}
        for binary in (self.executable, *sorted(self.stdlib.glob("lib-dynload/*.so"))):
            if not binary.name.startswith("_tkinter"):
                found.update(shared_libraries(binary))
        system = found["libc.so.6"].parent
        found.update({name: system / name for name in _WHEEL_LIBRARIES if (system / name).exists()})
        return tuple((path, name) for name, path in sorted(found.items()))

    @cached_property
    def loader(self) -> str:
        """Name of the dynamic linker among the libraries."""
        return next(name for _, name in self.libraries if name.startswith("ld-"))

    @property
    def library_folders(self) -> tuple[str, ...]:
        """The linker's own folder and libc's: the linker looks there unasked."""
        names = (self.loader, "libc.so.6")
        return tuple(dict.fromkeys(os.path.realpath(path.parent) for path, name in self.libraries if name in names))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over version, executable and shared libraries (size and content of each)."""
        digest = hashlib.sha256(f"layout 4 {sys.version}".encode())
        for path in (self.executable, *(library for library, _ in self.libraries)):
            with open(path, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()

    def copy_to(self, top: Path) -> None:
        """Copy executable, standard library and shared libraries to `top`."""
        (top / "bin").mkdir()
        shutil.copy2(self.executable, top / "bin" / self.name)
        for alias in ("python3", "python"):
            (top / "bin" / alias).symlink_to(self.name)
        (top / "shims").mkdir()
        for alias in ("python3", "python"):  # for jails that see the host's libraries and not the interpreter's
            (top / "shims" / alias).write_text(
                f"#!/bin/sh\nexec /opt/python/shared/{self.loader} --library-path /opt/python/shared "
                f'/opt/python/bin/{self.name} "$@"\n'
            )
            (top / "shims" / alias).chmod(0o755)
        shutil.copytree(self.stdlib, top / "lib" / self.name, ignore=_LEFT_OUT, symlinks=False)
        packages = top / "lib" / self.name / "site-packages"
        packages.mkdir()
        (packages / "environment.pth").write_text("/opt/site\n")  # where jails find an environment's packages
        compileall.compile_dir(top / "lib" / self.name, quiet=2, stripdir=str(top), prependdir="/opt/python")
        (top / "shared").mkdir()
        for path, name in self.libraries:
            shutil.copy2(path, top / "shared" / name)


def shared_libraries(binary: Path) -> dict[str, Path]:
    """Name and host path of each library that the dynamic linker would load for a trusted `binary`."""
    listing = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False).stdout
    found = {}
    for line in listing.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        path = (rest if arrow else name).split(" (")[0]
        if path.startswith("/"):
            found[os.path.basename(name.split(" (")[0])] = Path(path)
    return found


def _guest_sources() -> Iterable[tuple[str, bytes]]:
    """Yield the path below `guest/` and the text of each file that a jail needs."""
    guest = files("assay.sandbox").joinpath("guest")
    for room in sorted(entry.name for entry in guest.iterdir() if entry.is_dir()):
        for entry in sorted(guest.joinpath(room).iterdir(), key=lambda item: item.name):
            if entry.name.endswith(_GUEST_SUFFIXES):
                yield f"{room}/{entry.name}", entry.read_bytes()


def _skeleton_digest(library_folders: tuple[str, ...]) -> str:
    digest = hashlib.sha256(seccomp.default_filter() + seccomp.landlock_filter())
    for name, source in _guest_sources():
        digest.update(f"{name}:{len(source)}:".encode() + source)
    digest.update(
        repr(
            (_PASSWD, DEVICES, sorted(_LINKS.items()), SYSTEM_FOLDERS, library_folders, _host_etc(), "layout 2")
        ).encode()
    )
    return digest.hexdigest()


def _host_etc() -> list[str]:
    """Return which of the folders and files of /etc that jails see are on this host."""
    return [name for name in SYSTEM_ETC if Path("/etc", name).exists()]


def _build_skeleton(top: Path, library_folders: tuple[str, ...]) -> None:
    guest = top / "assay" / "assay" / "sandbox" / "guest"
    guest.mkdir(parents=True)
    for folder in ("box", "dev", "etc", "opt/python", "opt/site", "proc", "var", "usr/share/zoneinfo"):
        (top / folder).mkdir(parents=True)
    for name in SYSTEM_FOLDERS:
        _system_folder(top, name)
    for path in library_folders:
        (top / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for name in SYSTEM_ETC:
        _mount_point(Path("/etc", name), top / "etc" / name)
    for name, source in _guest_sources():
        (guest / name).parent.mkdir(parents=True, exist_ok=True)
        (guest / name).write_bytes(source)
    (top / "assay" / "filter").write_bytes(seccomp.default_filter())
    (top / "assay" / "filter-landlock").write_bytes(seccomp.landlock_filter())
    compileall.compile_dir(top / "assay", quiet=2, stripdir=str(top), prependdir="/")
    if _LOCALE.is_dir():
        shutil.copytree(_LOCALE, top / _LOCALE.relative_to("/"))
    (top / "etc" / "passwd").write_text(_PASSWD)
    (top / "etc" / "group").write_text("user:x:1000:\n")
    for device in DEVICES:
        (top / "dev" / device).touch()
    for link, target in _LINKS.items():
        (top / link).symlink_to(target)


def _system_folder(top: Path, name: str) -> None:
    """A mount point, or the host's own link on systems where /bin and /lib are links into /usr."""
    host = Path("/", name)
    if host.is_symlink():
        (top / name).symlink_to(os.readlink(host))
    elif host.is_dir():
        (top / name).mkdir(exist_ok=True)


def _mount_point(host: Path, inside: Path) -> None:
    if host.is_dir():
        inside.mkdir()
    elif host.exists():
        inside.touch()
