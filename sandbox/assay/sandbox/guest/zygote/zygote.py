"""The zygote: pid 1 of a jail, a warm interpreter that forks one confined child per run.

Model: a fixed header and descriptors arrive on a SEQPACKET socket; the zygote makes a pid
namespace with an idle init and the run's main process in it; the child takes its own mount and IPC
namespaces, a fresh tmpfs and /proc, its limits, and drops every capability before anything of the
payload is read. When the main process ends (or time is up, or the host says stop) the namespace is
killed whole, and one reply with status and usage goes back. EOF on the socket ends the jail.

This file, `reaper` and `accounting` are the whole of the security code inside a jail. The zygote never
reads a payload: programs and inputs are descriptors that only the child opens, after it has dropped its
privileges. A child can read the zygote's memory image, so nothing of one run may ever be in it.
Standard library only; it runs without Assay installed.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import NoReturn

sys.path.insert(0, __file__.partition("/assay/sandbox/guest/")[0])  # this file runs as a script
from assay.sandbox.guest.zygote import accounting, reaper

GUEST_PATH = sys.path.pop(0)

HEADER = struct.Struct("=12I")
"""magic, wall_ms, extend_ms, cpu_s, data_mb, file_mb, open_files, processes, stack_mb, box_kb, inodes, umask."""
REPLY = struct.Struct("=IiQQQQI")
"""outcome, wait status, wall us, CPU us of all processes, peak RSS kB, us without a CPU, 1 if nothing is left."""
RUN, STOP = 0x41535359, 0x53544F50
ENDED, TIMEOUT, STOPPED, NOT_STARTED = range(4)
READY_FD, JOB_FD = 200, 201
_SOCKETS_FD = 199
"""/proc/net/unix of the jail, kept open by the zygote."""
_COLLECTIONS, _COLLECTION_S = 100, 0.002

CLONE_VM, CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWPID = 0x100, 0x20000, 0x8000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 1, 38, 47, 4
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
BOX = b"/box"
Run = Callable[[socket.socket, tuple[int, ...], list[int]], bytes]
"""Does one run: control socket, header, descriptors -> reply."""

_libc = ctypes.CDLL(None, use_errno=True)
_INIT_STACK = ctypes.create_string_buffer(1 << 16)
_INIT_STACK_TOP = ctypes.c_void_p((ctypes.addressof(_INIT_STACK) + len(_INIT_STACK)) & ~0xFF)
_CAP_HEADER = (ctypes.c_uint32 * 2)(0x20080522, 0)
_CAP_NONE = (ctypes.c_uint32 * 6)()


def check_result(result: int) -> None:
    """Raise the error of a failed call."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def load_filter(path: str) -> None:
    """Load the seccomp program in `path`; every process of the jail inherits it."""
    with open(path, "rb") as file:
        program = file.read()
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    check_result(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    check_result(_libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(head), 0, 0))


def _own_namespaces(box_kb: int, inodes: int) -> None:
    """Enter a new mount and IPC namespace with a fresh tmpfs and a /proc that shows only this run."""
    score = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(score, b"1000")  # the program dies before the zygote does
    os.close(score)
    os.unshare(CLONE_NEWNS | CLONE_NEWIPC)
    options = b"size=%dk,nr_inodes=%d,mode=0755" % (box_kb, inodes)
    check_result(_libc.mount(b"box", BOX, b"tmpfs", MS_NOSUID | MS_NODEV, options))
    flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
    check_result(_libc.mount(b"proc", b"/proc", b"proc", flags, b"subset=pid"))


def make_folders(box: str) -> None:
    """The writable folders of a run; the working folder becomes the current one."""
    for name in ("w", "tmp", "shm"):
        os.mkdir(f"{box}/{name}", 0o700)
    os.chdir(f"{box}/w")


def place_descriptors(fds: list[int], ready: int) -> None:
    """`fds[0]` becomes JOB_FD, the others 0, 1, 2, …; the ready pipe READY_FD; all else is closed."""
    high = 210
    for offset, fd in enumerate(fds):
        os.dup2(fd, high + offset, inheritable=False)
    os.dup2(ready, READY_FD, inheritable=False)
    os.dup2(high, JOB_FD, inheritable=False)
    for offset in range(1, len(fds)):
        os.dup2(high + offset, offset - 1)
    os.closerange(len(fds) - 1, READY_FD)
    os.closerange(JOB_FD + 1, 65536)


def set_limits(header: tuple[int, ...]) -> None:
    """Resource limits of the main process and all it starts; hard, so nothing raises them.

    CPU time alone has a second more of grace: the signal at the soft limit (SIGXCPU) tells what ended the program.
    """
    _, _, _, cpu_s, data_mb, file_mb, files, processes, stack_mb, _, _, _ = header
    for name, value in (
        (resource.RLIMIT_DATA, data_mb << 20 or resource.RLIM_INFINITY),
        (resource.RLIMIT_FSIZE, file_mb << 20),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_STACK, stack_mb << 20),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, files),
    ):
        resource.setrlimit(name, (value, value))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))


def drop_capabilities() -> None:
    """Give up every capability, ambient ones too."""
    check_result(_libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
    check_result(_libc.capset(_CAP_HEADER, _CAP_NONE))


def be_child(header: tuple[int, ...], fds: list[int], ready: int, confine: Callable[[], None]) -> NoReturn:
    """Confine this process, say so on the ready pipe, then hand over to the payload."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        place_descriptors(fds, ready)
        confine()
        os.umask(header[11])
        os.write(READY_FD, b"R")
        os.close(READY_FD)
    except BaseException:
        os._exit(111)
    _payload_main(JOB_FD)


def _confine(header: tuple[int, ...]) -> None:
    _own_namespaces(header[9], header[10])
    make_folders("/box")
    set_limits(header)
    drop_capabilities()


def _start_init(code: ctypes.c_void_p) -> int:
    """Start pid 1 of a run, which reaps orphans. When it is killed, the kernel kills the namespace.

    It shares the zygote's memory (a second fork would cost as much as the program's) and only ever runs the code of
    `reaper`: signals from inside its namespace do not reach a pid 1 without handlers, and the program lacks the
    capability to trace it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])  # inherited
    try:
        pid = int(_libc.clone(code, _INIT_STACK_TOP, CLONE_VM | signal.SIGCHLD, None))
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    check_result(pid)
    return pid


def watch(pid: int, control: socket.socket, started: float, wall_ms: int, extend_ms: int) -> int:
    """Wait until the program ends, the host asks to stop it, or its time is up.

    Time that it was runnable without a CPU is not charged to it: it is added to its limit, up to `extend_ms`.
    """
    pidfd = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(pidfd, select.POLLIN)
        poller.register(control, select.POLLIN)
        granted = 0.0
        while True:
            left = started + wall_ms / 1e3 + granted - time.monotonic()
            ready = [fd for fd, _ in poller.poll(max(0, int(left * 1e3 + 0.999)))]
            if pidfd in ready:
                return ENDED
            if ready:
                return STOPPED
            delay = min(accounting.run_delay_us(pid) / 1e6, extend_ms / 1e3)
            if delay - granted < 0.002 or not accounting.wants_cpu():
                return TIMEOUT
            granted = delay
    finally:
        os.close(pidfd)


def _run(
    own_pids: int, code: ctypes.c_void_p, control: socket.socket, header: tuple[int, ...], fds: list[int]
) -> bytes:
    """Do one run in a pid namespace of its own, which is killed with it."""
    started = time.monotonic()
    ready_read, ready_write = os.pipe()
    os.unshare(CLONE_NEWPID)
    init = _start_init(code)
    pid = os.fork()
    if pid == 0:
        be_child(header, fds, ready_write, lambda: _confine(header))
    os.setns(own_pids, CLONE_NEWPID)
    os.close(ready_write)
    for fd in fds:
        os.close(fd)
    outcome = watch(pid, control, started, header[1], header[2])
    delay = accounting.run_delay_us(pid) if outcome == TIMEOUT else 0
    others = sum(accounting.used_us(other) for other in accounting.descendants() if other not in (pid, init))
    os.kill(init, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    reaped = os.wait4(init, 0)[2]
    others += int((reaped.ru_utime + reaped.ru_stime) * 1e6)
    return reply(outcome, status, usage, delay, started, ready_read, others_us=others, clean=_is_clean())


def _is_clean() -> bool:
    """Return whether no Unix socket of the run is left in the jail's network namespace.

    A socket outlives its run where descriptors are in flight in a cycle, and with it an abstract name and the memory
    of files. Closing a socket starts the kernel's collection of such cycles; its end is awaited for a bounded time.
    """
    for _ in range(_COLLECTIONS):
        if os.pread(_SOCKETS_FD, 4096, 0).count(b"\n") <= 1:
            return True
        socket.socket(socket.AF_UNIX).close()
        time.sleep(_COLLECTION_S)
    return False


def reply(
    outcome: int,
    status: int,
    usage: resource.struct_rusage,
    delay: int,
    started: float,
    ready: int,
    *,
    others_us: int = 0,
    clean: bool = True,
) -> bytes:
    """Return the packed reply; a run that ended before it was ready had not started.

    `others_us`: CPU time of processes that the main one has not waited for. `clean`: nothing of the run is left.
    """
    wall = time.monotonic() - started
    if os.read(ready, 1) != b"R" and outcome == ENDED:
        outcome = NOT_STARTED
    os.close(ready)
    cpu_us = int((usage.ru_utime + usage.ru_stime) * 1e6) + others_us
    return REPLY.pack(outcome, status, int(wall * 1e6), cpu_us, usage.ru_maxrss, delay, clean)


def serve(control: socket.socket, run: Run) -> None:
    """Answer run requests until the host closes the socket."""
    while True:
        data, fds, _, _ = socket.recv_fds(control, HEADER.size, 16)
        if not data:
            return
        if len(data) == HEADER.size and (header := HEADER.unpack(data))[0] == RUN:
            control.send(run(control, header, fds))
        else:
            for fd in fds:
                os.close(fd)  # a late STOP


def _payload_main(job_fd: int) -> NoReturn:
    raise NotImplementedError  # replaced by `warm`


def _settle() -> None:
    raise NotImplementedError  # replaced by `warm`


def warm(modules: list[str]) -> None:
    """Import what runs need, then hide our own modules from the programs' imports."""
    global _payload_main, _settle
    # Imported here and not at the top: the guest's package is on the path only while it is loaded, so that
    # programs cannot import it.
    sys.path.insert(0, GUEST_PATH)
    from assay.sandbox.guest.zygote import payload, settle

    payload.warm(modules)
    _payload_main, _settle = payload.main, settle.settle
    sys.path.remove(GUEST_PATH)
    for name in [name for name in sys.modules if name.partition(".")[0] == "assay"]:
        del sys.modules[name]


def start(filter_path: str, control_fd: int, modules: list[str]) -> socket.socket:
    """Warm up, load the seccomp filter (if any), make what is loaded immortal, and send `hello`."""
    check_result(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no handler that an init could inherit
    warm(modules)
    control = socket.socket(fileno=control_fd)
    if filter_path:
        load_filter(filter_path)
    _settle()
    control.send(b"hello")
    return control


def main(arguments: list[str]) -> None:
    """`zygote FILTER CONTROL MODULE…`, as pid 1 of a jail."""
    control = start(arguments[0], int(arguments[1]), arguments[2:])
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    sockets = os.open("/proc/net/unix", os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(sockets, _SOCKETS_FD, inheritable=False)
    os.close(sockets)
    code = reaper.reaper()
    serve(control, lambda *request: _run(own_pids, code, *request))


if __name__ == "__main__":
    main(sys.argv[1:])
