"""A service for the client's tests, and the command line run in this process."""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.cli import main

from ._cli import Ran
from ._service import Running, Service


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Return a function that starts services; all are stopped at the end."""
    running: list[Running] = []

    def begin(port: int = 0) -> Running:
        running.append(Running(Service(), port))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    """One service for all tests: starting one takes a tenth of a second."""
    one = Running(Service())
    yield one
    one.stop()


@pytest.fixture
def service(running: Running) -> Running:
    """The shared service, reset to its initial state."""
    running.service.reset()
    return running


@pytest.fixture
def assay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ran]:
    """Run `assay ARGUMENTS` in a temporary folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["assay", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return run
