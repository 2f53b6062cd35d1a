"""The supervisor process: starts jails, passes their control sockets to lanes, and ends what they leave behind.

It is not in the path of a run: a lane asks once for a jail and then talks to the jail's zygote directly.
    lane -> {"do": "jail", kind…}      <- {"id", "limited", "evicted"} + the zygote's socket
            {"do": "limit", id, …}     sets the control group's limits for the runs that follow
            {"do": "status", id}       is it alive, how many processes were killed for memory
            {"do": "drop", id}         end the jail: it is used up or broken
            {"do": "keep"|"find", key} compiled programs, as sealed memfds, shared by the slots
A jail without an owner is warm and unused; its first run sets the owner for good. End of file on a lane's
channel ends the jails of that lane; end of file on the parent's channel ends all jails and the process.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.sandbox import report
from assay.sandbox.environments import find
from assay.sandbox.errors import JailReplaced, SandboxError, Unavailable
from assay.sandbox.host import cgroups, packets
from assay.sandbox.host.backends import Backend, open_backend
from assay.sandbox.host.hostjails import sweep_boxes
from assay.sandbox.host.jails import Jail, JailKind
from assay.sandbox.languages import found_languages
from assay.sandbox.settings import Settings

_GROUP_OVERHEAD_BYTES = 32 << 20
_GROUP_OVERHEAD_TASKS = 3
_START_TIMEOUT_S = 90.0
_ARTEFACTS = 256
_ARTEFACT_BYTES = 512 << 20


@dataclass
class _Held:
    """A jail that a slot holds."""

    jail: Jail
    kind: JailKind
    uid_index: int


@dataclass
class _Starting:
    """A jail whose zygote has not said hello yet; `waiting`: a lane waits for it (else it is warmed up ahead)."""

    held: _Held
    deadline: float
    waiting: bool


@dataclass
class _Slot:
    channel: socket.socket
    number: int
    held: OrderedDict[int, _Held] = field(default_factory=OrderedDict)
    warm: _Held | None = None
    starting: _Starting | None = None
    evicted: list[int] = field(default_factory=list)
    """Jails that were ended to make room; the next answer that carries a jail tells the lane."""


class Server:
    """State and event loop of the process."""

    def __init__(self, settings: Settings, backend: Backend, parent: socket.socket, parent_pid: int) -> None:
        self._parent_pid = parent_pid
        self._settings = settings
        self._environments = settings.known_environments()
        self._backend = backend
        self._parent = parent
        self._selector = selectors.DefaultSelector()
        self._selector.register(parent, selectors.EVENT_READ, self._from_parent)
        self._slots: set[int] = set()
        self._uids: set[int] = set()
        self._artefacts: OrderedDict[str, int] = OrderedDict()
        self._next_id = 0
        self._running = True
        self._open: list[_Slot] = []

    def serve(self) -> None:
        """Answer until the parent's end closes or SIGTERM comes; then end every jail."""
        try:
            while self._running:
                for key, _ in self._selector.select(timeout=1.0):
                    key.data()
                self._expire()
        finally:
            for slot in list(self._open):
                self._end_slot(slot)

    def stop(self) -> None:
        """Leave `serve` after the current event."""
        self._running = False

    def _from_parent(self) -> None:
        try:
            _, fds = packets.receive(self._parent)
        except Unavailable:
            self._running = False
            return
        if len(self._slots) >= self._settings.slots:
            for fd in fds:
                os.close(fd)
            packets.send(self._parent, {"error": "every slot is taken"})
            return
        number = min(set(range(self._settings.slots)) - self._slots)
        self._slots.add(number)
        slot = _Slot(socket.socket(fileno=fds[0]), number)
        self._open.append(slot)
        self._selector.register(slot.channel, selectors.EVENT_READ, lambda: self._from_lane(slot))
        packets.send(self._parent, {"slot": number})
        with contextlib.suppress(SandboxError):
            self._start(slot, JailKind(image="python", environment="plain", role="program", owner=""), waiting=False)

    def _from_lane(self, slot: _Slot) -> None:
        try:
            message, fds = packets.receive(slot.channel)
        except Unavailable:
            self._end_slot(slot)
            return
        try:
            action: Callable[[_Slot, packets.Message, list[int]], None] = getattr(self, f"_do_{message['do']}")
            action(slot, message, fds)
        except SandboxError as error:
            self._answer(slot, {"error": type(error).__name__, "message": str(error)})

    def _answer(self, slot: _Slot, message: packets.Message, *fds: int) -> None:
        with contextlib.suppress(Unavailable):  # a lane that is gone is noticed by its end of file
            packets.send(slot.channel, message, fds)

    # -- jails ------------------------------------------------------------------------------------

    def _do_jail(self, slot: _Slot, message: packets.Message, _: list[int]) -> None:
        kind = JailKind(**message["kind"])
        if slot.starting is not None:
            self._finish_start(slot, wait=True)
        if slot.warm and _without_owner(kind) == slot.warm.kind and not message.get("fresh"):
            held, slot.warm = slot.warm, None
            self._make_room(slot, message.get("spare", ()))
            self._hand_over(slot, _Held(held.jail, kind, held.uid_index))
            return
        self._make_room(slot, message.get("spare", ()))
        self._start(slot, kind, waiting=True)

    def _make_room(self, slot: _Slot, spare: Sequence[int]) -> None:
        """End jails until one more fits: only those that the lane lists as spare, in its order."""
        for number in spare:
            if len(slot.held) < self._settings.jails_per_slot:
                return
            held = slot.held.pop(number, None)
            if held is not None:
                slot.evicted.append(number)
                self._end(held)

    def _start(self, slot: _Slot, kind: JailKind, *, waiting: bool) -> None:
        environment = find(kind.environment, self._environments)
        index = min(set(range(len(self._uids) + 1)) - self._uids)
        jail = self._backend.start(kind, environment, label=f"{slot.number}-{self._next_id}", index=index)
        self._next_id += 1
        self._uids.add(index)
        slot.starting = _Starting(_Held(jail, kind, index), time.monotonic() + _START_TIMEOUT_S, waiting)
        self._selector.register(jail.control, selectors.EVENT_READ, lambda: self._finish_start(slot))

    def _finish_start(self, slot: _Slot, *, wait: bool = False) -> None:
        starting = slot.starting
        if starting is None:
            return
        slot.starting = None
        held = starting.held
        self._selector.unregister(held.jail.control)
        if wait:
            held.jail.control.settimeout(max(0.1, starting.deadline - time.monotonic()))
        greeted = held.jail.greeted()
        held.jail.control.settimeout(None)
        if greeted:
            self._started(slot, held, waiting=starting.waiting)
            return
        log_lines = held.jail.last_log_lines()
        self._end(held)
        if starting.waiting:
            self._answer(slot, {"error": "Unavailable", "message": f"a jail did not start: {log_lines}"})

    def _started(self, slot: _Slot, held: _Held, *, waiting: bool) -> None:
        if waiting:
            self._hand_over(slot, held)
        else:
            slot.warm = held

    def _hand_over(self, slot: _Slot, held: _Held) -> None:
        self._next_id += 1
        slot.held[self._next_id] = held
        answer = {
            "id": self._next_id,
            "limited": held.jail.group is not None,
            "runs": self._settings.runs_per_jail,
            "evicted": slot.evicted,
            "oom_kills": held.jail.oom_kills(),
        }
        slot.evicted = []
        descriptors = held.jail.group.memory_descriptors() if held.jail.group else []
        self._answer(slot, answer, held.jail.control.fileno(), *descriptors)
        for fd in descriptors:
            os.close(fd)

    def _do_limit(self, slot: _Slot, message: packets.Message, _: list[int]) -> None:
        held = self._held(slot, message)
        memory_bytes = (message["memory_mb"] << 20) + _GROUP_OVERHEAD_BYTES
        if held.jail.group:
            try:
                held.jail.group.limit(memory_bytes=memory_bytes, tasks=message["processes"] + _GROUP_OVERHEAD_TASKS)
            except Unavailable as error:  # it holds more than the new limit: of no use for this run
                self._end(slot.held.pop(message["id"]))
                raise JailReplaced("the jail held too much memory") from error
        self._answer(slot, {"memory_bytes": memory_bytes})

    def _do_status(self, slot: _Slot, message: packets.Message, _: list[int]) -> None:
        held = self._held(slot, message)
        self._answer(slot, {"alive": held.jail.alive(), "oom_kills": held.jail.oom_kills()})

    def _do_drop(self, slot: _Slot, message: packets.Message, _: list[int]) -> None:
        held = slot.held.pop(message["id"], None)
        if held:
            self._end(held)
        self._answer(slot, {})

    def _held(self, slot: _Slot, message: packets.Message) -> _Held:
        held = slot.held.get(message["id"])
        if held is None:
            raise JailReplaced("the jail was replaced")
        return held

    def _end(self, held: _Held) -> None:
        held.jail.close()
        self._uids.discard(held.uid_index)

    def _end_slot(self, slot: _Slot) -> None:
        self._selector.unregister(slot.channel)
        slot.channel.close()
        if slot.starting:
            self._selector.unregister(slot.starting.held.jail.control)
            self._end(slot.starting.held)
            slot.starting = None
        for held in [*slot.held.values(), *([slot.warm] if slot.warm else [])]:
            self._end(held)
        self._slots.discard(slot.number)
        self._open.remove(slot)

    def _expire(self) -> None:
        """Drop jails that do not start in time, and jails whose nsjail process was killed."""
        if os.getppid() != self._parent_pid:
            self._running = False
        for slot in self._open:
            if slot.starting and time.monotonic() > slot.starting.deadline:
                slot.starting.held.jail.control.setblocking(False)
                self._finish_start(slot)
            for held in [*slot.held.values(), *([slot.warm] if slot.warm else [])]:
                if not held.jail.alive() and held.jail.group and held.jail.group.pids():
                    held.jail.group.destroy()
            if slot.warm and not slot.warm.jail.alive():
                self._end(slot.warm)
                slot.warm = None

    def _do_languages(self, slot: _Slot, message: packets.Message, _: list[int]) -> None:
        found = found_languages().values()
        rows = [[item.language.name, item.executable, item.digest, item.version] for item in found]
        self._answer(slot, {"languages": rows, "isolated": bool(self._backend.promises)})

    # -- compiled programs --------------------------------------------------------------------------

    def _do_keep(self, slot: _Slot, message: packets.Message, fds: list[int]) -> None:
        old = self._artefacts.pop(message["key"], None)
        if old is not None:
            os.close(old)
        self._artefacts[message["key"]] = fds[0]
        while len(self._artefacts) > _ARTEFACTS or self._artefact_bytes() > _ARTEFACT_BYTES:
            os.close(self._artefacts.popitem(last=False)[1])
        self._answer(slot, {})

    def _artefact_bytes(self) -> int:
        return sum(os.fstat(fd).st_size for fd in self._artefacts.values())

    def _do_find(self, slot: _Slot, message: packets.Message, _: list[int]) -> None:
        fd = self._artefacts.get(message["key"])
        if fd is None:
            self._answer(slot, {"found": False})
            return
        self._artefacts.move_to_end(message["key"])
        self._answer(slot, {"found": True}, fd)


def _without_owner(kind: JailKind) -> JailKind:
    return JailKind(image=kind.image, environment=kind.environment, role=kind.role, owner="")


def main(arguments: list[str]) -> int:
    """`supervise FD PARENT SETTINGS`: prove the backend, greet the parent, serve."""
    parent = socket.socket(fileno=int(arguments[0]))
    settings = Settings.from_json(arguments[2])
    try:
        hierarchy = cgroups.find()
        if hierarchy:
            cgroups.sweep(hierarchy)
        sweep_boxes(settings.state_dir)
        proven = open_backend(settings, hierarchy)
        facts: dict[str, Any] = report.isolation(settings, proven)
    except (SandboxError, OSError) as error:
        packets.send(parent, {"error": str(error)})
        return 1
    server = Server(settings, proven.backend, parent, int(arguments[1]))
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(Unavailable):
        packets.send(parent, facts)
        server.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
