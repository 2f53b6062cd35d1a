"""A service for the client's tests."""

from collections.abc import Callable, Iterator

import pytest

from ._service import Running, Service


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Starts services; all are stopped at the end."""
    running: list[Running] = []

    def begin(port: int = 0) -> Running:
        running.append(Running(Service(), port))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


@pytest.fixture
def service(start: Callable[..., Running]) -> Running:
    """One service."""
    return start()
