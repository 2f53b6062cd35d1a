"""Backends behind one protocol, chosen by the operator's list. There is no silent downgrade."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from assay.sandbox import cgroups, image
from assay.sandbox.environments import Environment
from assay.sandbox.errors import SandboxError, Unavailable
from assay.sandbox.nsjail import Jail, JailKind, NsJail
from assay.sandbox.settings import Settings


class Backend(Protocol):
    """Starts jails of one sort of isolation."""

    name: str

    @property
    def built(self) -> image.Image:
        """The image its jails see."""
        ...

    def start(self, kind: JailKind, environment: Environment, *, label: str, index: int) -> Jail:
        """Start a jail; its zygote says hello when it is warm. Raises `Unavailable`."""
        ...


def open_backend(settings: Settings, hierarchy: cgroups.Hierarchy | None) -> Backend:
    """The first backend of the list whose jail starts here. Raises `Unavailable` with every reason."""
    built = image.build(image.open_state_dir(settings.state_dir))
    reasons = []
    for name in settings.backends:
        try:
            backend = _maker(name)(settings, built, hierarchy)
            _prove(backend)
        except (SandboxError, OSError) as error:
            reasons.append(f"{name}: {error}")
        else:
            return backend
    raise Unavailable("no sandbox backend works on this host. " + "; ".join(reasons))


def _maker(name: str) -> Callable[[Settings, image.Image, cgroups.Hierarchy | None], Backend]:
    makers = {"nsjail": _nsjail}
    if name not in makers:
        raise Unavailable(f"unknown backend; known: {', '.join(makers)}")
    return makers[name]


def _nsjail(settings: Settings, built: image.Image, hierarchy: cgroups.Hierarchy | None) -> Backend:
    return NsJail(built=built, hierarchy=hierarchy, uid_base=settings.uid_base)


def _prove(backend: Backend) -> None:
    """Start one jail and end it. Raises `Unavailable` with its complaint."""
    kind = JailKind(image="python", environment="plain", role="program", owner="")
    jail = backend.start(kind, Environment(name="plain", preload=()), label="proof", index=0)
    try:
        jail.control.settimeout(30)
        if not jail.greeted():
            raise Unavailable(f"a jail did not start: {jail.complaint()}")
    finally:
        jail.close()
