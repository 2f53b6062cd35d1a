"""Nothing of a run can be seen by another one: a probe of what a run sees is the same before, after and beside.

The hostile programs leave what the kernel lets outlive a process: descriptors in flight, abstract names, times, modes,
attributes and locks of shared files, memory charged to the jail.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.sandbox import (
    CompileFailed,
    Limits,
    RunResult,
    Slot,
    Status,
    Supervisor,
    compile_program,
    found_languages,
    program,
    python_program,
)

PROBE = """
import ctypes, errno, fcntl, json, os, socket, sys
def caught(function):
    try: return function()
    except OSError as error: return errno.errorcode.get(error.errno)
def times(path):
    info = os.stat(path)
    return [info.st_mtime_ns, info.st_atime_ns, info.st_ctime_ns, info.st_mode, info.st_nlink]
def names():
    taken = []
    for n in range(20):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if caught(lambda: s.bind(f"\\0left-{n}")): taken.append(n)
        s.close()
    return taken
def autobound():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind("")
    return len(s.getsockname())  # the name itself is random
def locks(path):
    with open(path) as file:
        return caught(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB))
def cookie(option):
    s = socket.socket(socket.AF_UNIX)
    return caught(lambda: s.getsockopt(socket.SOL_SOCKET, option, 8))
libc = ctypes.CDLL(None, use_errno=True)
page = ctypes.c_void_p(ctypes.addressof(ctypes.create_string_buffer(8192)) & ~4095)
shared = [json.__file__, sys.executable, "/etc/passwd"]
print(json.dumps({
    "devices": [times(f"/dev/{name}") for name in ("null", "zero", "urandom")],
    "times": [times(path) for path in shared],
    "attributes": [os.listxattr(path) for path in shared],
    "locks": [locks(path) for path in shared],
    "names": names(), "autobound": autobound(),
    "cookie": [cookie(57), cookie(71)],
    "mincore": libc.syscall(27, page, 4096, ctypes.create_string_buffer(1)),
    "cachestat": libc.syscall(451, 0, None, None, 0),
    "shm": [libc.shmget(key, 0, 0) for key in range(1, 5)],
    "files": sorted(os.listdir("/tmp") + os.listdir("/dev/shm") + os.listdir(".")),
    "descriptors": sorted(os.listdir("/proc/self/fd"))[:4],
    "pids": os.getpid(), "cwd": os.getcwd(), "mounts": len(open("/proc/self/mounts").readlines()),
}))
"""
HOSTILE = {
    "descriptors_in_flight": """
import os, socket
a, b = socket.socketpair()
for n in range(6):
    f = os.memfd_create("x"); os.write(f, b"x" * (8 << 20))
    socket.send_fds(a, [b"x"], [f, a.fileno(), b.fileno()])
""",
    "abstract_names": """
import socket
kept = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for n in range(20)]
for n, s in enumerate(kept): s.bind(f"\\0left-{n}")
autobound = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for n in range(20)]
for s in autobound: s.bind("")
a, b = socket.socketpair()
socket.send_fds(a, [b"x"], [s.fileno() for s in (*kept, *autobound, a, b)])
""",
    "times_of_devices": """
import os
for name in ("null", "zero", "urandom"):
    for action in (lambda p: os.utime(p), lambda p: os.utime(p, (1, 1)), lambda p: os.chmod(p, 0o600)):
        try: action(f"/dev/{name}")
        except OSError: pass
open("/dev/null", "w").write("x")
""",
    "attributes_of_shared_files": """
import json, os, sys
for path in (json.__file__, sys.executable, "/etc/passwd", "/proc/self/exe"):
    mark = lambda p: os.setxattr(p, "user.left", b"1")
    for action in (mark, lambda p: os.utime(p, (1, 1)), lambda p: os.chmod(p, 0)):
        try: action(path)
        except OSError: pass
""",
    "shared_memory": """
import ctypes
libc = ctypes.CDLL(None)
for key in range(1, 5): libc.shmget(key, 4 << 20, 0o1666)
""",
    "daemons": """
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(60)
        os._exit(0)
""",
}
LOCKER = """
import fcntl, json, sys, time
files = [open(path) for path in (json.__file__, sys.executable, "/etc/passwd")]
for file in files: fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(3)
"""


@pytest.fixture(scope="module")
def slots(start_supervisor: Callable[..., Supervisor]) -> Iterator[list[Slot]]:
    supervisor = start_supervisor(slots=2)
    opened = [Slot.from_descriptor(supervisor.connect()) for _ in range(2)]
    yield opened
    for slot in opened:
        slot.close()


def run(slot: Slot, source: str, **limits: float) -> RunResult:
    return slot.run(python_program(source.encode(), limits=Limits(wall_s=20).override(**limits)))


def seen(slot: Slot) -> dict[str, Any]:
    result = run(slot, PROBE)
    assert result.ok, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_a_run_sees_nothing_of_an_earlier_one(slots: list[Slot], name: str) -> None:
    before = seen(slots[0])
    assert run(slots[0], HOSTILE[name]).ok
    assert seen(slots[0]) == before
    assert seen(slots[1]) == before


def test_a_run_sees_nothing_of_one_beside_it(slots: list[Slot]) -> None:
    before = seen(slots[0])
    beside = threading.Thread(target=run, args=(slots[1], LOCKER))
    beside.start()
    try:
        assert seen(slots[0]) == before
        assert all(found is None for found in before["locks"])
    finally:
        beside.join()


def test_counters_of_the_host_are_refused(slots: list[Slot]) -> None:
    found = seen(slots[0])
    assert found["cookie"] == ["EPERM", "EPERM"]
    assert found["mincore"] == found["cachestat"] == -1


def test_own_files_keep_times_and_attributes(slots: list[Slot]) -> None:
    source = """
import os, shutil, tarfile
open("a", "w").write("x")
os.utime("a", (1000, 1000))
shutil.copy2("a", "b")
assert os.stat("b").st_mtime == 1000
with tarfile.open("t.tar", "w") as tar: tar.add("a")
os.mkdir("out")
with tarfile.open("t.tar") as tar: tar.extractall("out", filter="data")
assert os.stat("out/a").st_mtime == 1000
print("ok")
"""
    assert run(slots[0], source).stdout == b"ok\n"


IDIOMS = {
    "asyncio": """
import asyncio, sys
async def main():
    server = await asyncio.start_unix_server(lambda r, w: w.close(), "s")
    reader, writer = await asyncio.open_unix_connection("s")
    assert await reader.read() == b""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    assert await process.wait() == 0
    server.close()
asyncio.run(main())
print("ok")
""",
    "forkserver": """
import multiprocessing
def double(x): return 2 * x
if __name__ == "__main__":
    with multiprocessing.get_context("forkserver").Pool(2) as pool:
        print("ok" if pool.map(double, [1, 2]) == [2, 4] else "wrong")
""",
}


@pytest.mark.parametrize("name", IDIOMS)
def test_honest_uses_of_sockets_work(slots: list[Slot], name: str) -> None:
    result = run(slots[0], IDIOMS[name])
    assert result.stdout == b"ok\n", result.stderr


@pytest.mark.skipif(not shutil.which("node"), reason="no node here")
def test_children_of_node_work(slots: list[Slot]) -> None:
    source = b"""
const {fork} = require('child_process');
if (process.argv[2]) { process.send('ok'); process.disconnect(); }
else fork(__filename, ['child']).on('message', m => console.log(m));
"""
    compiled = compile_program(slots[0], slots[0].toolchain("javascript"), source)
    assert slots[0].run(program(compiled, limits=Limits(wall_s=20))).stdout == b"ok\n"


@pytest.mark.parametrize("memory_mb", [64, 128, 256, 512, 1024])
def test_an_innocent_program_does_not_pay(slots: list[Slot], memory_mb: int) -> None:
    hoard = """
import ctypes, os, socket
a, b = socket.socketpair()
for _ in range(MB // 16):
    f = os.memfd_create("x"); os.write(f, bytes(8 << 20))
    socket.send_fds(a, [b"x"], [f, a.fileno(), b.fileno()]); os.close(f)
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
key = libc.shmget(1, MB << 18, 0o1666)
ctypes.memset(libc.shmat(key, None, 0), 1, MB << 18)
""".replace("MB", str(memory_mb))
    innocent = f"b = bytearray({memory_mb} << 19)\nb[::4096] = b[::4096]\nprint('ok')"
    run(slots[0], hoard, memory_mb=memory_mb)
    assert run(slots[0], innocent, memory_mb=memory_mb).stdout == b"ok\n"
    run(slots[0], hoard, memory_mb=memory_mb)
    assert run(slots[0], innocent, memory_mb=memory_mb // 2 + 32).stdout == b"ok\n"


def test_an_exit_code_after_a_killed_child_of_an_earlier_run_is_no_memory_limit(slots: list[Slot]) -> None:
    child = "import os\nif os.fork() == 0:\n    b = bytearray(1 << 30)\n    b[::4096] = b[::4096]\nos.wait()"
    assert run(slots[0], child, memory_mb=64).ok
    result = run(slots[0], "raise SystemExit(3)", memory_mb=64)
    assert (result.status, result.exit_code) == (Status.RUNTIME_ERROR, 3)


def test_cpu_time_of_orphans_counts(slots: list[Slot]) -> None:
    source = """
import os, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
for _ in range(2):
    if os.fork() == 0:
        if os.fork() == 0: burn(0.4)
        os._exit(0)
    os.wait()
time.sleep(3)
print("ok")
"""
    result = run(slots[0], source)
    assert result.ok and result.cpu_s >= 0.7


@pytest.mark.skipif("cpp" not in found_languages(), reason="no C++ compiler here")
def test_a_compile_bomb_is_bounded_by_the_row(slots: list[Slot]) -> None:
    bomb = b"""
template<int N, int M> struct T { static constexpr long v = T<N-1, M>::v + T<N-1, M+1>::v; };
template<int M> struct T<0, M> { static constexpr long v = M; };
int main() { return T<880, 0>::v; }
"""
    with pytest.raises(CompileFailed) as failure:
        compile_program(slots[0], slots[0].toolchain("cpp"), bomb, limits=Limits(wall_s=1))
    assert failure.value.result.cpu_s < 15  # 8 s and a second of grace
