"""A slot that needs more kinds of jails than it may hold: the oldest go, runs never notice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from assay.sandbox import RunSpec, Settings, Slot, Status, Supervisor, Unavailable, python_program


def program(owner: str, role: str = "program") -> RunSpec:
    return dataclasses.replace(python_program(b"print(1)"), owner=owner, role=role)


@pytest.fixture(scope="module")
def small() -> Iterator[Supervisor]:
    try:
        started = Supervisor.start(Settings(slots=1, jails_per_slot=3))
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    with started:
        yield started


@pytest.fixture
def slot(small: Supervisor) -> Iterator[Slot]:
    opened = Slot.from_descriptor(small.connect())
    yield opened
    opened.close()


def test_more_owners_than_jails(slot: Slot) -> None:
    assert [slot.run(program(owner)).status for owner in "abcdaa"] == [Status.OK] * 6
    assert len(slot.jail_numbers) <= 3


@pytest.mark.parametrize("limited", [True, False], ids=["limited", "without_control_groups"])
def test_more_pairs_than_jails(slot: Slot, monkeypatch: pytest.MonkeyPatch, limited: bool) -> None:
    request = slot.request_jail
    monkeypatch.setattr(slot, "request_jail", lambda *a, **k: dataclasses.replace(request(*a, **k), limited=limited))
    for owner in "aba":
        results = slot.run_together([program(owner), program(owner, "tests")])
        assert [result.status for result in results] == [Status.OK] * 2


def test_a_jail_that_died_unused_is_replaced_for_a_pair(slot: Slot) -> None:
    slot.run_together([program("a"), program("a", "tests")])
    for number in [jail.number for jail in slot._jails.values()]:
        slot._call({"do": "drop", "id": number})
    results = slot.run_together([program("a"), program("a", "tests")])
    assert [result.status for result in results] == [Status.OK] * 2


def test_the_jails_that_an_item_needs_stay(slot: Slot) -> None:
    specs = [program("a", role) for role in ("program", "tests", "one", "two")]
    assert [result.status for result in slot.run_together(specs)] == [Status.OK] * 4
