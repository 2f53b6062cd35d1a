"""A small warm process that forks lanes, so that neither the front nor a trainer ever forks.

Started by exec with a bare environment: `python -m assay.service.engine.workers.forkserver FD [MODULE …]`. It
imports what verifiers need, and those modules, once; every lane is a fork of it. On FD it receives orders
(msgpack `Order`, with the lane's socket, page and sandbox channel as SCM_RIGHTS), answers each with the lane's
pidfd and reports each death. When the engine ends, the socket closes; it then kills its lanes and exits.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import traceback

import msgspec
from msgspec import Struct

from assay.service.engine.protocol import LaneOptions
from assay.service.engine.workers import worker
from assay.verifiers.registry import Registry

FDS = 3
MESSAGE = 1 << 16


class Order(Struct, array_like=True):
    """Start a lane."""

    options: LaneOptions
    stuck_s: float


class Started(Struct, array_like=True, tag=True):
    """A lane was started; its pidfd comes with this message."""

    number: int
    pid: int


class Ended(Struct, array_like=True, tag=True):
    """A lane has ended; `status` is its wait status (os.waitpid)."""

    pid: int
    status: int


def main() -> None:
    """Serve orders until the engine closes the socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine handles a terminal's Ctrl-C
    _warm_up(sys.argv[2:])
    lanes: set[int] = set()
    try:
        with contextlib.suppress(ConnectionError):  # the engine has ended
            _serve(control, wake_read, lanes)
    finally:
        for pid in lanes:
            os.kill(pid, signal.SIGKILL)


def _warm_up(modules: list[str]) -> None:
    """Import what every lane needs; freeze it so that collections in lanes do not copy its pages."""
    for module in modules:
        importlib.import_module(module)
    registry = Registry()
    for name in registry:
        registry.get(name)
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket, wake: int, lanes: set[int]) -> None:
    orders = msgspec.msgpack.Decoder(Order)
    while True:
        ready, _, _ = select.select([control.fileno(), wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _reap(control, lanes)
        if control.fileno() in ready:
            message, fds, _, _ = socket.recv_fds(control, MESSAGE, FDS)
            if not message:
                return
            lanes.add(_start(control, orders.decode(message), fds))


def _start(control: socket.socket, order: Order, fds: list[int]) -> int:
    pid = os.fork()
    if pid == 0:
        _become_lane(control, order, fds)
    for fd in fds:
        os.close(fd)
    pidfd = os.pidfd_open(pid)
    socket.send_fds(control, [msgspec.msgpack.encode(Started(order.options.number, pid))], [pidfd])
    os.close(pidfd)
    return pid


def _become_lane(control: socket.socket, order: Order, fds: list[int]) -> None:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        if order.options.sandbox:
            os.environ["ASSAY_SANDBOX_FD"] = str(fds[2])
        worker.main(socket.socket(fileno=fds[0]), fds[1], order.options, stuck_s=order.stuck_s)
        status = 0
    except ConnectionError:
        pass  # the engine has ended: there is nobody to report to
    except BaseException:  # where a lane broke; never a completion's text
        for frame in traceback.extract_tb(sys.exc_info()[2])[-3:]:
            print(f"assay lane: {sys.exc_info()[0]} at {frame.filename}:{frame.lineno}", file=sys.stderr)
    finally:
        os._exit(status)


def _reap(control: socket.socket, lanes: set[int]) -> None:
    while lanes:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        lanes.discard(pid)
        control.send(msgspec.msgpack.encode(Ended(pid, status)))


if __name__ == "__main__":
    main()
