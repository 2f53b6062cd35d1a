"""The start-up self-test: programs that try to break out of a jail, and what each found.

Every backend names the probes that it promises to stop; one of them found open means that the backend
does not work here. The others are reported as they are. The probes are quick and touch nothing real:
no packet is sent, no process but their own is signalled with more than 0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from assay.sandbox.errors import Unavailable
from assay.sandbox.host.execution import Execution, collect
from assay.sandbox.host.jails import Jail
from assay.sandbox.limits import Limits
from assay.sandbox.programs import python_program
from assay.sandbox.spec import RunResult, Status

PROMISES = {
    "network": "no sockets but local ones of its own",
    "host_files": "no file of the host but the interpreter's and the system's",
    "write_outside": "nothing writable but its own folders",
    "other_processes": "no process but its own can be seen or signalled",
    "new_namespaces": "no new namespaces, no mounts",
    "tracing": "no tracing, no reading of other processes' memory",
    "privileges": "no capability, no way to another user",
    "kernel_interfaces": "no bpf, perf, io_uring, keyrings, userfaultfd",
    "watching": "no watching of files that others use",
    "environment": "nothing of the service's environment",
    "descriptors": "no descriptor but its own three",
    "left_files": "no file of an earlier run",
    "left_ipc": "no shared memory of an earlier run",
    "memory": "memory bounded",
    "process_count": "number of processes bounded",
    "wall_time": "wall time bounded",
    "disk": "disk space bounded in all",
}
"""Probe -> what holds if it was stopped."""
EVERYTHING = frozenset(PROMISES)

_PROBE = r"""
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def open_if(*tries):
    for one in tries:
        try:
            if one() not in (False, None, -1): return True
        except (OSError, ValueError, MemoryError): pass
    return False
def write(path): open(path, 'w').close(); os.remove(path); return True
def call(number, *args): return libc.syscall(number, *args) >= 0
def caps():
    return int([l for l in open('/proc/self/status') if l.startswith('CapEff')][0].split()[1], 16) != 0
def left(folder):
    path = folder + '/left'
    found = os.path.exists(path)
    if os.path.realpath(folder).startswith(('/box', os.path.dirname(os.getcwd()))): open(path, 'w').close()
    return found
known = {'PATH','HOME','TMPDIR','USER','LANG','TZ','PYTHONHASHSEED','PYTHONDONTWRITEBYTECODE','PYTHONUTF8',
         'OMP_NUM_THREADS','OPENBLAS_NUM_THREADS','MKL_NUM_THREADS','NUMEXPR_NUM_THREADS','LC_CTYPE','LD_LIBRARY_PATH'}
event = (ctypes.c_uint32 * 32)(1, 128)
print(json.dumps({
 'network': open_if(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), lambda: socket.socket(socket.AF_INET6),
                    lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
 'host_files': open_if(lambda: os.listdir('/root'), lambda: os.listdir('/home'), lambda: open('/etc/shadow'),
                       lambda: open('/etc/hostname'), lambda: os.listdir('/work'), lambda: os.listdir('/sys/fs')),
 'write_outside': open_if(lambda: write('/x'), lambda: write('/opt/python/x'), lambda: write('/usr/x'),
                          lambda: write('/dev/x'), lambda: write('/assay/x')),
 'other_processes': open_if(lambda: os.getppid() and os.kill(os.getppid(), 0) is None,
                            lambda: len([p for p in os.listdir('/proc') if p.isdigit() and p != '1']) > 1),
 'new_namespaces': open_if(lambda: call(272, 0x10000000), lambda: call(272, 0x20000),
                           lambda: libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0),
 'tracing': open_if(lambda: libc.ptrace(0, 0, 0, 0) == 0, lambda: call(310, 1, 0, 0, 0, 0, 0),
                    lambda: open('/proc/1/mem', 'rb'), lambda: os.readlink('/proc/1/fd/0'),
                    lambda: open('/proc/1/environ').read()),
 'privileges': open_if(caps, lambda: os.setuid(0) is None, lambda: libc.prctl(39, 0, 0, 0, 0) != 1),
 'kernel_interfaces': open_if(lambda: call(321, 0, event, 72), lambda: call(298, event, 0, -1, -1, 0),
                              lambda: call(425, 4, event), lambda: call(250, 0, -3, 0), lambda: call(323, 1)),
 'watching': open_if(lambda: call(294, 0), lambda: call(300, 0, 0)),
 'environment': bool(set(os.environ) - known),
 'descriptors': bool(set(os.listdir('/proc/self/fd')) - {'0', '1', '2', '3'}),
 'left_files': any([left(folder) for folder in {os.path.realpath(p)
                    for p in ('/tmp', '/dev/shm', os.environ['TMPDIR'], '.')}]),
 'left_ipc': libc.shmget(0x5656, 0, 0) != -1 or libc.shmget(0x5656, 4096, 0o1600) < -1,
}))
"""
_HOG = "x = bytearray(256 << 20)\nx[::4096] = b'x' * len(x[::4096])\nprint('open')"
_FORKS = """
import os, time
n = 0
try:
    for _ in range(300):
        if os.fork() == 0: time.sleep(5); os._exit(0)
        n += 1
except OSError: pass
print('open' if n >= 300 else 'stopped')
"""
_FILL = """
total = 0
for n in range(6):
    try:
        with open(f'f{n}', 'wb') as f:
            for _ in range(16): f.write(bytes(1 << 20)); f.flush(); total += 1
    except OSError: pass
print('open' if total >= 90 else 'stopped')
"""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One probe: what it checks, and whether it was stopped."""

    name: str
    holds: bool


def probe(jail: Jail) -> tuple[Finding, ...]:
    """Run every probe in a jail. Raises `Unavailable` if a probe program does not even run."""
    first = _run(jail, _PROBE)
    second = _run(jail, _PROBE)
    opened = {**_found(first), **{name: found for name, found in _found(second).items() if found}}
    opened["memory"] = _printed_open(_run(jail, _HOG, memory_mb=24, wall_s=20))
    opened["process_count"] = _printed_open(_run(jail, _FORKS, processes=32, wall_s=20))
    opened["disk"] = _printed_open(_run(jail, _FILL, disk_mb=16))
    opened["wall_time"] = _run(jail, "while True: pass", wall_s=0.2, cpu_s=20).status is not Status.TIMEOUT
    return tuple(Finding(name=name, holds=not opened[name]) for name in PROMISES)


def _run(jail: Jail, source: str, **limits: float) -> RunResult:
    asked = Limits().override(**limits)
    if jail.group:
        jail.group.limit(memory_bytes=(asked.memory_mb + 32) << 20, tasks=asked.processes + 3)
    execution = Execution(
        jail.control,
        python_program(source.encode(), limits=asked),
        data_mb=0 if jail.group else asked.memory_mb,
    )
    collect([execution])
    if execution.lost:
        raise Unavailable(f"the jail died under a probe: {jail.last_log_lines()}")
    return execution.result(oom_killed=False)


def _found(run: RunResult) -> dict[str, bool]:
    try:
        return dict(json.loads(run.stdout))
    except ValueError:
        said = run.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise Unavailable(f"a probe program does not run in a jail ({run.status.value}): {said}") from None


def _printed_open(run: RunResult) -> bool:
    return run.stdout == b"open\n"


def report(findings: tuple[Finding, ...], promised: frozenset[str]) -> list[dict[str, Any]]:
    """The findings as JSON; `holds` is left out of account where the backend does not promise it."""
    return [
        {
            "name": item.name,
            "promise": PROMISES[item.name],
            "holds": item.holds,
            "promised": item.name in promised,
        }
        for item in findings
    ]
