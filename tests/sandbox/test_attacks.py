# ruff: noqa: E501
"""Programs that attack: each must be stopped, and leave nothing that the next run could notice."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.sandbox import Limits, RunResult, Slot, Status, Supervisor, python_program

Run = Callable[..., RunResult]
PRELUDE = """
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(fn):
    try:
        return fn() in (-1, False, None)
    except (OSError, ValueError):
        return True
"""
REFUSED = {
    "tcp": "socket.socket(socket.AF_INET)",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "raw": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "alg": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "new_user_namespace": "libc.syscall(272, 0x10000000)",
    "new_mount_namespace": "libc.syscall(272, 0x20000)",
    "clone3": "libc.syscall(435, (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17), 88)",
    "mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "umount": "libc.umount2(b'/box', 2)",
    "chroot": "libc.chroot(b'/box')",
    "pivot_root": "libc.syscall(155, b'/box', b'/box')",
    "setns": "libc.setns(os.open('/proc/self/ns/pid', 0), 0)",
    "ptrace": "libc.ptrace(0, 0, 0, 0)",
    "process_vm_readv": "libc.syscall(310, 1, 0, 0, 0, 0, 0)",
    "pidfd_getfd": "libc.syscall(438, 3, 0, 0)",
    "bpf": "libc.syscall(321, 0, (ctypes.c_uint32 * 32)(1, 4, 4, 1), 72)",
    "perf": "libc.syscall(298, (ctypes.c_uint32 * 32)(1, 128), 0, -1, -1, 0)",
    "io_uring": "libc.syscall(425, 4, (ctypes.c_uint32 * 64)())",
    "userfaultfd": "libc.syscall(323, 1)",
    "keyctl": "libc.syscall(250, 0, -3, 0)",
    "add_key": "libc.syscall(248, b'user', b'x', b'y', 1, -3)",
    "inotify": "libc.syscall(294, 0)",
    "fanotify": "libc.syscall(300, 0, 0)",
    "dnotify": "__import__('fcntl').fcntl(os.open('/opt/python', 0), 1026, 0x80000001)",
    "lease": "__import__('fcntl').fcntl(os.open('/opt/python/bin/python3', 0), 1024, 1)",
    "personality": "libc.syscall(135, 0x0040000)",
    "clock": "libc.syscall(227, 0, (ctypes.c_int64 * 2)(0, 0))",
    "hostname": "libc.syscall(170, b'x', 1)",
    "handle": "libc.syscall(303, -100, b'/', (ctypes.c_uint32 * 64)(64), ctypes.byref(ctypes.c_int()), 0)",
    "quota": "libc.syscall(179, 0, 0, 0, 0)",
    "modules": "libc.syscall(313, 0, b'', 0)",
    "new_mount_api": "libc.syscall(430, b'tmpfs', 0)",
    "tiocsti": "libc.ioctl(0, 0x5412, b'x')",
    "setuid_root": "os.setuid(0)",
    "raise_limit": "__import__('resource').setrlimit(7, (4096, 4096))",
    "realtime": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    "others_limits": "libc.syscall(302, 1, 7, 0, 0)",
    "init_memory": "open('/proc/1/mem', 'rb')",
    "init_descriptors": "os.readlink('/proc/1/fd/0')",
    "init_environment": "open('/proc/1/environ').read()",
    "host_passwd": "open('/etc/shadow').read()",
    "write_image": "open('/opt/python/x', 'w')",
    "write_guest": "open('/assay/x', 'w')",
    "write_root": "os.mkdir('/x')",
    "device_node": "os.mknod('dev', 0o20666, os.makedev(1, 1))",
    "sysctl": "open('/proc/sys/kernel/core_pattern', 'w')",
    "setgroups": "os.open('/proc/self/setgroups', 1)",
    "oom_adjust": "open('/proc/self/oom_score_adj', 'w')",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(python: Run, name: str) -> None:
    result = python(f"{PRELUDE}print(refused(lambda: {REFUSED[name]}))")
    assert result.stdout == b"True\n", (result.stdout, result.stderr, result.status)


def test_the_program_sees_itself_alone(python: Run) -> None:
    source = "import os\nprint(sorted(p for p in os.listdir('/proc') if p.isdigit()), os.getpid(), os.getppid())"
    assert python(source).stdout == b"['1', '2'] 2 0\n"


def test_no_environment_of_the_service_is_inside(python: Run) -> None:
    source = "import os\nprint(sorted(k for k in os.environ if 'PYTHON' not in k and 'THREADS' not in k))"
    assert python(source).stdout == b"['HOME', 'LANG', 'PATH', 'TMPDIR', 'TZ', 'USER']\n"


def test_only_three_descriptors_are_open(python: Run) -> None:
    assert python("import os\nprint(len(os.listdir('/proc/self/fd')) - 1)").stdout == b"3\n"


def test_signals_to_everything_hurt_only_the_run(python: Run) -> None:
    for victim in ("-1", "1", "0"):
        python(f"import os, signal\nfor s in (15, 2, 9):\n  try: os.kill({victim}, s)\n  except OSError: pass")
        assert python("print(1)").stdout == b"1\n"


def test_a_fork_bomb_is_bounded_and_gone(python: Run) -> None:
    result = python("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", wall_s=1, processes=40)
    assert result.status is Status.TIMEOUT
    assert python("import os\nprint(sorted(p for p in os.listdir('/proc') if p.isdigit()))").stdout == b"['1', '2']\n"


def test_daemons_die_with_their_run(python: Run) -> None:
    python("import os, time\nfor _ in range(5):\n  if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)")
    assert python("import os\nprint(len([p for p in os.listdir('/proc') if p.isdigit()]))").stdout == b"2\n"


def test_orphans_do_not_pile_up_as_zombies(python: Run) -> None:
    source = (
        "import os, time\nfor _ in range(200):\n  pid = os.fork()\n  if pid == 0:\n"
        "    if os.fork() == 0: os._exit(0)\n    os._exit(0)\n  os.waitpid(pid, 0)\nprint('all')"
    )
    assert python(source, processes=32).stdout == b"all\n"


@pytest.mark.parametrize(
    "fill",
    [
        "f = open('/box/w/x', 'wb')",
        "f = open('/tmp/x', 'wb')",
        "f = open('/dev/shm/x', 'wb')",
        "f = open(os.memfd_create('x'), 'wb')",
    ],
)
def test_files_anywhere_are_bounded(python: Run, fill: str) -> None:
    source = f"import os\n{fill}\nn = 0\ntry:\n  for _ in range(300): n += f.write(bytes(1 << 20)); f.flush()\nexcept OSError: pass\nprint(n >> 20)"
    result = python(source, memory_mb=512)
    assert not result.ok or int(result.stdout) <= 66


def test_memory_of_many_processes_together_is_bounded(supervisor: Supervisor, python: Run) -> None:
    if supervisor.isolation()["facts"]["limits"].startswith("rlimits"):
        pytest.skip("no control groups here")
    source = (
        "import os, time\nfor _ in range(8):\n  if os.fork() == 0:\n    x = bytearray(60 << 20)\n"
        "    x[::4096] = b'x' * len(x[::4096])\n    time.sleep(3)\n    os._exit(0)\n"
        "print(sum(os.waitstatus_to_exitcode(os.wait()[1]) == 0 for _ in range(8)))"
    )
    result = python(source, memory_mb=200, wall_s=20)
    assert not result.ok or int(result.stdout) < 8


def test_memory_pressure_never_becomes_an_excuse(python: Run) -> None:
    for source in (
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "import os\nwhile True:\n  os.fork(); x = bytearray(20 << 20); x[::4096] = b'x' * len(x[::4096])",
        "import mmap\nm = mmap.mmap(-1, 2 << 30)\nfor i in range(0, len(m), 4096): m[i] = 1",
    ):
        assert not python(source, memory_mb=96, wall_s=10).ok
        assert python("print(1)").ok


def test_compiled_code_cannot_read_the_host(slot: Slot) -> None:
    from assay.sandbox import CompileFailed, compile_program, found_languages

    if "cpp" not in found_languages():
        pytest.skip("no C++ compiler here")
    secret = Path("/var/tmp/assay-secret.h")
    secret.write_text("#define SECRET 1\n")
    try:
        for line in ('#include "/var/tmp/assay-secret.h"', '#include "/etc/shadow"', "#include </dev/zero>"):
            with pytest.raises(CompileFailed):
                compile_program(slot, slot.toolchain("cpp"), f"{line}\nint main(){{}}".encode())
    finally:
        secret.unlink()


def test_two_slots_do_not_notice_each_other(supervisor: Supervisor) -> None:
    """One floods, forks and dies while the other measures what it can see."""
    left, right = (Slot.from_descriptor(supervisor.connect()) for _ in range(2))
    try:
        left.run(python_program(b"open('/dev/shm/mark', 'w'); open('/tmp/mark', 'w')"))
        seen = right.run(
            python_program(b"import os\nprint(os.listdir('/dev/shm'), os.listdir('/tmp'), os.path.exists('/proc/3'))")
        )
        assert seen.stdout == b"[] [] False\n"
    finally:
        left.close()
        right.close()


def test_one_slot_out_of_memory_costs_the_other_nothing(supervisor: Supervisor) -> None:
    """Many processes die of memory, again and again, while an innocent in the next slot works in a good part of its own."""
    left, right = (Slot.from_descriptor(supervisor.connect()) for _ in range(2))
    greedy = python_program(
        b"import os\nfor _ in range(6):\n    if os.fork() == 0: break\nx = []\nwhile True: x.append(bytearray(1 << 20))",
        limits=Limits(wall_s=10, memory_mb=128),
    )
    innocent = python_program(b"x = bytearray(96 << 20)\nprint(len(x) >> 20)", limits=Limits(wall_s=10, memory_mb=192))
    try:
        with ThreadPoolExecutor(1) as other:
            ended = other.submit(lambda: [left.run(greedy).status for _ in range(4)])
            seen = [right.run(innocent) for _ in range(8)]
        assert [result.stdout for result in seen] == [b"96\n"] * 8
        assert set(ended.result()) <= {Status.MEMORY_LIMIT, Status.RUNTIME_ERROR}
    finally:
        left.close()
        right.close()


def jailed_uids() -> set[int]:
    uids = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            uids.add(entry.stat().st_uid)
    return {uid for uid in uids if uid >= 600_000}


@pytest.mark.skipif(os.getuid() != 0, reason="jails have uids of their own only under root")
def test_slots_have_uids_of_their_own(supervisor: Supervisor) -> None:
    slots = [Slot.from_descriptor(supervisor.connect()) for _ in range(2)]
    try:
        for slot in slots:
            slot.run(python_program(b"pass"))
        assert len(jailed_uids()) >= 2
    finally:
        for slot in slots:
            slot.close()
