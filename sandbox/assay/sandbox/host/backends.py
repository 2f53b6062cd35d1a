"""Backends behind one protocol, chosen by the operator's list. There is no silent downgrade."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from assay.sandbox.environments import PLAIN, Environment
from assay.sandbox.errors import SandboxError, Unavailable
from assay.sandbox.host import cgroups, image
from assay.sandbox.host.hostjails import HostJails
from assay.sandbox.host.jails import Jail, JailKind
from assay.sandbox.host.nsjail import NsJail
from assay.sandbox.host.selftest import Finding, probe
from assay.sandbox.host.uids import claim_block
from assay.sandbox.settings import Settings

_START_TIMEOUT_S = 30


class Backend(Protocol):
    """Starts jails of one sort of isolation."""

    @property
    def name(self) -> str:
        """Its name in settings and reports."""
        ...

    @property
    def promises(self) -> frozenset[str]:
        """The probes of the self-test that it promises to stop."""
        ...

    @property
    def facts(self) -> dict[str, str]:
        """What else people should know, by a short name."""
        ...

    @property
    def built(self) -> image.Image:
        """The image its jails see."""
        ...

    def start(self, kind: JailKind, environment: Environment, *, label: str, index: int) -> Jail:
        """Start a jail; its zygote says hello when it is warm. Raises `Unavailable`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Proven:
    """A backend and what its self-test found."""

    backend: Backend
    findings: tuple[Finding, ...]


def open_backend(settings: Settings, hierarchy: cgroups.Hierarchy | None) -> Proven:
    """The first backend of the list that holds what it promises here. Raises `Unavailable` with every reason."""
    built = image.build(image.open_state_dir(settings.state_dir))
    reasons = []
    for name in settings.backends:
        try:
            return _first_proven(_make(name, settings, built, hierarchy))
        except (SandboxError, OSError, subprocess.SubprocessError) as error:
            reasons.append(f"{name}: {error}")
    raise Unavailable("no sandbox backend works on this host. " + "; ".join(reasons))


def _first_proven(variants: Sequence[Backend]) -> Proven:
    """Return the first variant that works. Raises the error of the last."""
    for backend in variants[:-1]:
        with contextlib.suppress(SandboxError, OSError, subprocess.SubprocessError):
            return Proven(backend=backend, findings=_prove(backend))
    return Proven(backend=variants[-1], findings=_prove(variants[-1]))


def _make(name: str, settings: Settings, built: image.Image, hierarchy: cgroups.Hierarchy | None) -> Sequence[Backend]:
    """Return the variants of a backend, the best first."""
    if name not in _MAKERS:
        raise Unavailable(f"unknown backend; known: {', '.join(_MAKERS)}")
    return _MAKERS[name](settings, built, hierarchy)


def _uid_base(settings: Settings) -> int:
    """The first of the host uids of our jails: a block that no other supervisor here uses."""
    return claim_block(settings.uid_base) if os.getuid() == 0 else settings.uid_base


def _nsjail(settings: Settings, built: image.Image, hierarchy: cgroups.Hierarchy | None) -> Sequence[Backend]:
    layered = NsJail(built=built, hierarchy=hierarchy, uid_base=_uid_base(settings))
    return layered, replace(layered, layered=False)


def _landlock(settings: Settings, built: image.Image, hierarchy: cgroups.Hierarchy | None) -> Sequence[Backend]:
    jails = HostJails(
        mode="landlock", built=built, hierarchy=hierarchy, state=settings.state_dir, uid_base=_uid_base(settings)
    )
    return (jails,)


def _process(settings: Settings, built: image.Image, hierarchy: cgroups.Hierarchy | None) -> Sequence[Backend]:
    if not settings.unsafe_no_isolation:
        raise Unavailable("no isolation at all: refused without unsafe_no_isolation (--unsafe-no-isolation)")
    jails = HostJails(
        mode="none", built=built, hierarchy=hierarchy, state=settings.state_dir, uid_base=_uid_base(settings)
    )
    return (jails,)


_MAKERS: dict[str, Callable[[Settings, image.Image, cgroups.Hierarchy | None], Sequence[Backend]]] = {
    "nsjail": _nsjail,
    "landlock": _landlock,
    "process": _process,
}


def _prove(backend: Backend) -> tuple[Finding, ...]:
    """Run the self-test in a jail of its own. Raises `Unavailable` naming what does not hold."""
    kind = JailKind(image="python", environment="plain", role="program", owner="")
    jail = backend.start(kind, PLAIN, label="proof", index=0)
    try:
        jail.control.settimeout(_START_TIMEOUT_S)
        if not jail.greeted():
            raise Unavailable(f"a jail did not start: {jail.last_log_lines()}")
        findings = probe(jail)
    finally:
        jail.close()
    broken = [item.name for item in findings if not item.holds and item.name in backend.promises]
    if broken:
        raise Unavailable(f"the self-test got out of the jail: {', '.join(broken)}")
    return findings
