"""A lane's client of one slot: run programs, one or two at a time, in jails that the supervisor owns.

    slot = slot()                 # from the descriptor in ASSAY_SANDBOX_FD
    result = slot.run(spec)

Recovery. If a jail dies during a run: the result is `memory_limit` if the kernel killed a process of it for
memory at the run's own limit; otherwise the run is repeated once in a fresh jail, and a second death is
`runtime_error`. A process that was killed for the memory of the container or host is the host's fault, whatever the
run did: it is repeated once, and then raises `Unavailable`. A run that timed out
on a busy host is repeated once: it had waited for a CPU for at least its whole wall limit, and had CPU time left.
Faults of the sandbox itself raise `Unavailable`. Not thread-safe.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from signal import SIGKILL

from assay.sandbox.errors import JailReplaced, MissingEnvironment, MissingLanguage, Unavailable
from assay.sandbox.host import packets
from assay.sandbox.host.charge import Charge, Killed
from assay.sandbox.host.execution import Execution, JailLost, collect
from assay.sandbox.host.jails import JailKind
from assay.sandbox.languages import Toolchain, table
from assay.sandbox.limits import check as check_limits
from assay.sandbox.spec import RunResult, RunSpec, Status

FD_VARIABLE = "ASSAY_SANDBOX_FD"
_CPU_SPARE = 0.9
_FAULTS = {kind.__name__: kind for kind in (MissingEnvironment, MissingLanguage, JailReplaced)}


@dataclass
class HeldJail:
    """A jail that this slot holds: the zygote's control socket and the state of its limits."""

    number: int
    control: socket.socket
    limited: bool
    most_runs: int
    runs: int = 0
    charge: Charge | None = None
    limits: tuple[int, int] = (0, 0)
    memory_bytes: int = 0
    oom_kills: int = 0

    def close(self) -> None:
        """Close this process's descriptors of the jail."""
        self.control.close()
        if self.charge:
            self.charge.close()


class Slot:
    """One slot of a supervisor."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._jails: dict[JailKind, HeldJail] = {}
        self._artefacts: dict[str, int] = {}
        self._toolchains: dict[str, Toolchain] = {}
        self._isolated = True

    @classmethod
    def from_descriptor(cls, fd: int) -> Slot:
        """The slot behind a descriptor that `Supervisor.connect` gave; takes it over."""
        return cls(socket.socket(fileno=fd))

    def close(self) -> None:
        """Give the slot back; the supervisor ends its jails."""
        for jail in self._jails.values():
            jail.close()
        for fd in self._artefacts.values():
            os.close(fd)
        self._jails, self._artefacts = {}, {}
        self._channel.close()

    def interrupt(self) -> None:
        """End whatever runs in this slot; may be called from another thread. The slot is unusable afterwards."""
        self._channel.shutdown(socket.SHUT_RDWR)

    @property
    def jail_numbers(self) -> tuple[int, ...]:
        """Supervisor's numbers of the jails that this slot holds, the most recently used last."""
        return tuple(jail.number for jail in self._jails.values())

    def run(self, spec: RunSpec) -> RunResult:
        """Run one program. Raises `Unavailable` or `LimitTooHigh`.

        One that was killed, and nothing here accounts for that, is run once more, in a new jail.
        """
        (result,) = self.run_together([spec])
        if _starved_of_cpu(spec, result):
            (result,) = self.run_together([spec])
        elif result.unexplained and not result.jail_lost:  # the loss of a jail has been tried again already
            (result,) = self.run_together([replace(spec, fresh=True)])
        return result

    def run_together(self, specs: Sequence[RunSpec], *, close_after_start: Sequence[int] = ()) -> list[RunResult]:
        """Run several programs at once, each in a jail of its own (their roles must differ).

        `close_after_start`: this process's copies of the pipes between them. Runs that share pipes are never
        repeated: a jail that dies then is a `runtime_error` of its own run.
        """
        for spec in specs:
            check_limits(spec.limits, with_runtime=True)
        kinds = frozenset(_kind(spec) for spec in specs)
        try:
            for spec in specs:
                self._jail(spec, kinds)
            started = self._start_all(specs, kinds)
        finally:
            for fd in close_after_start:
                os.close(fd)
        collect([execution for _, execution in started])
        alone = len(specs) == 1
        return [self._finish(jail, execution, retry=alone) for jail, execution in started]

    def _start_all(self, specs: Sequence[RunSpec], kinds: frozenset[JailKind]) -> list[tuple[HeldJail, Execution]]:
        started: list[tuple[HeldJail, Execution]] = []
        try:
            for spec in specs:
                started.append(self._start(spec, kinds))
        except BaseException:
            for jail, execution in started:
                execution.close()
                self._drop(jail)  # its run would otherwise go on without a reader
            raise
        return started

    def _start(self, spec: RunSpec, kinds: frozenset[JailKind]) -> tuple[HeldJail, Execution]:
        """Send a run to its jail. A jail that is gone by now has not started the run: it is replaced, once."""
        for _ in range(2):
            jail = self._jail(spec, kinds)
            try:
                execution = self._send(jail, spec)
            except JailReplaced:
                self._forget(jail)
                continue
            if not execution.lost:
                return jail, execution
            execution.close()
            self._drop(jail)
        raise Unavailable("a jail could not be given a run")

    def _send(self, jail: HeldJail, spec: RunSpec) -> Execution:
        wanted = (spec.limits.memory_mb, spec.limits.processes)
        if jail.limited and jail.limits != wanted:
            answer = self._call({"do": "limit", "id": jail.number, "memory_mb": wanted[0], "processes": wanted[1]})
            jail.limits, jail.memory_bytes = wanted, int(answer["memory_bytes"])
        if jail.charge:
            jail.charge.begin()
        jail.runs += 1
        return Execution(jail.control, spec, data_mb=0 if jail.limited else spec.limits.memory_mb)

    def _finish(self, jail: HeldJail, execution: Execution, *, retry: bool) -> RunResult:
        spec = execution.spec
        killed = self._killed(jail)
        if killed is Killed.BY_ANOTHER_LIMIT:
            return self._after_foreign_kill(jail, spec, retry=retry)
        try:
            result = execution.result(oom_killed=False)
        except JailLost:
            return self._after_loss(jail, execution, killed, retry=retry)
        if result.status is Status.RUNTIME_ERROR and killed is Killed.AT_ITS_LIMIT:
            result = execution.result(oom_killed=True)
        if result.signal == SIGKILL and self._host_ran_out(jail):
            return self._after_foreign_kill(jail, spec, retry=retry)
        if spec.fresh or jail.runs >= jail.most_runs or not self._is_as_before(jail, execution):
            self._drop(jail)
        return result

    @staticmethod
    def _is_as_before(jail: HeldJail, execution: Execution) -> bool:
        """Return whether nothing of the run is left in its jail: no socket, and no memory charged to it."""
        return execution.clean and (jail.charge is None or jail.charge.settles())

    def _after_foreign_kill(self, jail: HeldJail, spec: RunSpec, *, retry: bool) -> RunResult:
        self._drop(jail)
        if retry:
            return self._run_fresh(replace(spec, fresh=True))
        raise Unavailable("the memory of the host or container ran out while a program ran")

    def _after_loss(self, jail: HeldJail, execution: Execution, killed: Killed, *, retry: bool) -> RunResult:
        spec, had_started = execution.spec, execution.lost
        ran_out = self._host_ran_out(jail)
        self._drop(jail)
        if killed is Killed.AT_ITS_LIMIT:
            return _ended(Status.MEMORY_LIMIT)
        if retry:
            return self._run_fresh(replace(spec, fresh=True))
        if had_started and not ran_out:
            return _ended(Status.RUNTIME_ERROR)
        raise Unavailable("a jail could not start a run, or the memory of the host ran out")

    def _run_fresh(self, spec: RunSpec) -> RunResult:
        jail, execution = self._start(spec, frozenset([_kind(spec)]))
        collect([execution])
        return self._finish(jail, execution, retry=False)

    # -- jails --------------------------------------------------------------------------------------

    def _jail(self, spec: RunSpec, kinds: frozenset[JailKind]) -> HeldJail:
        """Return the jail for a run and mark it as used last; jails of `kinds` are not evicted for it."""
        kind = _kind(spec)
        jail = self._jails.pop(kind, None)
        if jail is not None and spec.fresh and jail.runs:
            self._drop(jail)
            jail = None
        self._jails[kind] = jail = jail or self.request_jail(kind, kinds, fresh=spec.fresh)
        return jail

    def request_jail(self, kind: JailKind, kinds: frozenset[JailKind], *, fresh: bool) -> HeldJail:
        """Ask the supervisor for a jail; it may evict held jails of kinds that are not in `kinds`."""
        spare = [jail.number for held, jail in self._jails.items() if held not in kinds]
        answer, fds = self._call_with_fds({"do": "jail", "kind": asdict(kind), "fresh": fresh, "spare": spare})
        for jail in [jail for jail in self._jails.values() if jail.number in answer["evicted"]]:
            self._forget(jail)
        control = socket.socket(fileno=fds[0])
        charge = Charge(fds[1:]) if len(fds) > 1 else None
        kills = int(answer["oom_kills"])
        return HeldJail(answer["id"], control, answer["limited"], answer["runs"], charge=charge, oom_kills=kills)

    def _forget(self, jail: HeldJail) -> None:
        self._jails = {kind: held for kind, held in self._jails.items() if held is not jail}
        jail.close()

    def _drop(self, jail: HeldJail) -> None:
        self._forget(jail)
        self._call({"do": "drop", "id": jail.number})

    def _killed(self, jail: HeldJail) -> Killed:
        """Return whether the kernel has killed a process of the run for memory."""
        if jail.charge is not None:
            return jail.charge.killed(jail.memory_bytes)
        return Killed.AT_ITS_LIMIT if jail.limited and self._kills_rose(jail) else Killed.NOT

    def _host_ran_out(self, jail: HeldJail) -> bool:
        """Return whether a process of a jail without a control group may have been killed for the host's memory."""
        return not jail.limited and self._kills_rose(jail)

    def _kills_rose(self, jail: HeldJail) -> bool:
        try:
            kills = int(self._call({"do": "status", "id": jail.number})["oom_kills"])
        except JailReplaced:
            return False
        rose, jail.oom_kills = kills > jail.oom_kills, kills
        return rose

    def toolchain(self, name: str) -> Toolchain:
        """The toolchain of a language, as the supervisor found it. Raises `MissingLanguage`.

        A lane may be confined and cannot look for itself.
        """
        self._learn()
        if name not in self._toolchains:
            raise MissingLanguage(f"no such language on this host; found: {', '.join(self._toolchains)}")
        return self._toolchains[name]

    @property
    def isolated(self) -> bool:
        """False on a backend that isolates nothing: results of it must be marked."""
        self._learn()
        return self._isolated

    def _learn(self) -> None:
        """Ask the supervisor once what it has."""
        if self._toolchains:
            return
        answer = self._call({"do": "languages"})
        self._isolated = bool(answer["isolated"])
        for name, executable, digest, version in answer["languages"]:
            self._toolchains[name] = Toolchain(
                language=table()[name], executable=executable, digest=digest, version=version
            )

    # -- compiled programs -----------------------------------------------------------------------------

    def find_artefact(self, key: str) -> int | None:
        """Return the descriptor of a compiled program kept under `key` by any slot; the slot owns it."""
        if key not in self._artefacts:
            answer, fds = self._call_with_fds({"do": "find", "key": key})
            if not answer["found"]:
                return None
            self._remember(key, fds[0])
        return self._artefacts[key]

    def keep_artefact(self, key: str, fd: int) -> None:
        """Keep a compiled program (a sealed memfd, owned by the slot from now on) for every slot."""
        self._remember(key, fd)
        self._call_with_fds({"do": "keep", "key": key}, fd)

    def _remember(self, key: str, fd: int) -> None:
        while len(self._artefacts) >= 16:
            os.close(self._artefacts.pop(next(iter(self._artefacts))))
        self._artefacts[key] = fd

    # -- the channel --------------------------------------------------------------------------------------

    def _call(self, message: packets.Message) -> packets.Message:
        return self._call_with_fds(message)[0]

    def _call_with_fds(self, message: packets.Message, *fds: int) -> tuple[packets.Message, list[int]]:
        packets.send(self._channel, message, fds)
        answer, received = packets.receive(self._channel)
        if "error" in answer:
            raise _FAULTS.get(answer["error"], Unavailable)(answer["message"])
        return answer, received


def _kind(spec: RunSpec) -> JailKind:
    return JailKind(image=spec.image, environment=spec.environment, role=spec.role, owner=spec.owner)


def _starved_of_cpu(spec: RunSpec, result: RunResult) -> bool:
    """Return whether a run timed out for want of a CPU and can be repeated (its pipes are its own)."""
    if result.status is not Status.TIMEOUT or spec.stdout is not None or not isinstance(spec.stdin, bytes):
        return False
    exhausted = result.delay_s >= spec.limits.wall_s  # the zygote grants at most that much
    return exhausted and result.cpu_s < _CPU_SPARE * spec.limits.cpu_seconds


def _ended(status: Status) -> RunResult:
    """The result of a run whose jail died with it."""
    return RunResult(status=status, exit_code=None, signal=None, wall_s=0.0, cpu_s=0.0, memory_kb=0, jail_lost=True)


@cache
def slot() -> Slot:
    """This process's slot, from the descriptor named in the environment. Raises `Unavailable`."""
    text = os.environ.get(FD_VARIABLE, "")
    if not text.isdigit():
        raise Unavailable("this process has no sandbox slot")
    with contextlib.suppress(OSError):
        os.set_inheritable(int(text), False)
        return Slot.from_descriptor(int(text))
    raise Unavailable("the sandbox slot of this process is closed")
