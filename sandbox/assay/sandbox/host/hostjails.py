"""Backends without namespaces: `landlock` where user namespaces are forbidden, `process` for nothing at all.

`landlock` (kernel >= 6.12, ABI 6) restricts files, TCP, signals and system calls of each run; as root
every jail has a uid of its own. A container around the service should bound memory and disk.
`process` bounds honest mistakes by rlimits; it is refused without `unsafe_no_isolation`, and every
result of it is marked.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from assay.sandbox.environments import Environment
from assay.sandbox.errors import Unavailable
from assay.sandbox.guest.zygote import hostzygote
from assay.sandbox.host import cgroups, image
from assay.sandbox.host.jails import OWN_MODULES, PROGRAM_ENVIRONMENT, Jail, JailKind, entering, has_uids_from
from assay.sandbox.host.selftest import EVERYTHING

_NOT_BY_LANDLOCK = frozenset({"disk"})
_READABLE = (
    *(f"/{name}" for name in image.SYSTEM_FOLDERS),
    *(f"/etc/{name}" for name in image.SYSTEM_ETC),
    "/etc/ssl/openssl.cnf",
)
_FILTER = {"landlock": "filter-landlock", "none": ""}


@dataclass(frozen=True, kw_only=True)
class HostJails:
    """Starts jails in the host's own namespaces. `mode` is `landlock` or `none`."""

    mode: str
    built: image.Image
    hierarchy: cgroups.Hierarchy | None
    state: Path
    uid_base: int = 600_000

    @property
    def name(self) -> str:
        """Its name in settings and reports."""
        return "landlock" if self.mode == "landlock" else "process"

    @property
    def promises(self) -> frozenset[str]:
        """The probes of the self-test that it promises to stop."""
        return EVERYTHING - _NOT_BY_LANDLOCK if self.mode == "landlock" else frozenset()

    @property
    def facts(self) -> dict[str, str]:
        """What else people should know."""
        bounded = f"control groups v{self.hierarchy.version}" if self.hierarchy else "rlimits only, per process"
        isolation = "none" if self.mode == "none" else "landlock and seccomp, the host's pids and mounts"
        own = "one per jail" if has_uids_from(self.uid_base) else "the caller's own, shared by all jails"
        return {"limits": bounded, "isolation": isolation, "host uid": own, "kernel": "shared with the host"}

    def start(self, kind: JailKind, environment: Environment, *, label: str, index: int) -> Jail:
        """Start a jail; its zygote says hello when it is warm. Raises `Unavailable`."""
        if self.mode == "landlock" and hostzygote.landlock_abi() < hostzygote.ABI_SCOPES_SIGNALS:
            raise Unavailable("this kernel has no landlock that scopes signals (6.12 or later is needed)")
        uid = self.uid_base + index if has_uids_from(self.uid_base) else os.getuid()
        box = self.state / f"box-{os.getpid()}-{label}"
        box.mkdir(mode=0o700)
        os.chown(box, uid, uid if has_uids_from(self.uid_base) else os.getgid())
        control, zygote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        group = cgroups.Group(self.hierarchy, label) if self.hierarchy else None
        log = os.memfd_create("zygote-log")
        with zygote_end:
            command = self._command(kind, environment, box, zygote_end.fileno())
            process = self._spawn(command, zygote_end, group, log, uid)
        return HostJail(control=control, process=process, group=group, uid=uid, log=log, box=box)

    def _spawn(
        self, command: list[str], control: socket.socket, group: cgroups.Group | None, log: int, uid: int
    ) -> subprocess.Popen[bytes]:
        environment = {
            **PROGRAM_ENVIRONMENT,
            "LD_LIBRARY_PATH": str(self.built.python / "shared"),
            "PATH": f"{self.built.python}/bin:/usr/bin:/bin",
        }
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            cwd="/",
            env=environment,
            pass_fds=(control.fileno(),),
            start_new_session=True,
            preexec_fn=entering(group, uid=uid if has_uids_from(self.uid_base) else None),
        )

    def _command(self, kind: JailKind, environment: Environment, box: Path, control: int) -> list[str]:
        site = [str(environment.site)] if environment.site else []
        options = {
            "mode": self.mode,
            "box": str(box),
            "site": site,
            "own_uid": has_uids_from(self.uid_base),
            "readable": [*_READABLE, str(self.built.python), str(self.built.root), *site],
        }
        chosen = _FILTER[self.mode]
        return [
            str(self.built.python / "bin" / Path(self.built.executable).name),
            "-s",
            "-B",
            "-P",
            "-X",
            "utf8",
            str(self.built.root / "assay/assay/sandbox/guest/zygote/hostzygote.py"),
            str(self.built.root / "assay" / chosen) if chosen else "",
            str(control),
            json.dumps(options),
            *OWN_MODULES.get(kind.role, ()),
            *environment.preload,
        ]


class HostJail(Jail):
    """A jail whose folder lies on the host."""

    def __init__(self, *, box: Path, **fields: object) -> None:
        super().__init__(**fields)  # type: ignore[arg-type]
        self._box = box

    def close(self) -> None:
        """End the jail, whatever it left running, and its folder."""
        self.control.close()
        if self.alive():
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.uid != os.getuid():
            _kill_uid(self.uid)
        super().close()
        shutil.rmtree(self._box, ignore_errors=True)


def sweep_boxes(state: Path) -> None:
    """Remove the folders of jails whose supervisor is gone."""
    for folder in state.glob("box-*-*"):
        if not Path("/proc", folder.name.split("-")[1]).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _kill_uid(uid: int) -> None:
    """Kill every process of a jail's uid: fork, become that uid, kill all."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
