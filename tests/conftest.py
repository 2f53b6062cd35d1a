"""Fixtures of more than one part: sandbox supervisors, with a skip and its reason where no backend works."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def start_supervisor() -> Iterator[Callable[..., Any]]:
    """Return a function that starts a supervisor with the given `Settings` fields; all end with the session."""
    # Imported here: the client's tests also run where the sandbox's dependencies are not installed.
    from assay.sandbox import Settings, Supervisor, Unavailable

    with contextlib.ExitStack() as started:

        def start(**fields: Any) -> Supervisor:
            try:
                return started.enter_context(Supervisor.start(Settings(**fields)))
            except Unavailable as reason:
                pytest.skip(f"no sandbox here: {reason}")

        yield start


@pytest.fixture(scope="session")
def supervisor(start_supervisor: Callable[..., Any]) -> Any:
    """Return a supervisor with eight slots, shared by the tests of a session."""
    return start_supervisor(slots=8)
