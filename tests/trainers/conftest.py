"""One service for all trainers' tests of a run."""

from collections.abc import Iterator

import pytest

from ._service import Service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """HTTP and gRPC, text verifiers."""
    one = Service()
    yield one
    one.kill()
