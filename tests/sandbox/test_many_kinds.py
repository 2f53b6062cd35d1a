"""A slot that needs more kinds of jails than it may hold: the oldest go, runs never notice."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from assay.sandbox import RunSpec, Settings, Slot, Status, Supervisor, Unavailable, python_program


def program(owner: str, role: str = "program") -> RunSpec:
    return dataclasses.replace(python_program(b"print(1)"), owner=owner, role=role)


@pytest.fixture(params=["limited", "without_control_groups"])
def slot(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slot]:
    try:
        started = Supervisor.start(Settings(slots=1, jails_per_slot=3))
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    if request.param == "without_control_groups":
        ask = Slot._ask_for
        monkeypatch.setattr(
            Slot, "_ask_for", lambda self, *a, **k: dataclasses.replace(ask(self, *a, **k), limited=False)
        )
    with started:
        opened = Slot.from_descriptor(started.connect())
        yield opened
        opened.close()


def test_more_owners_than_jails(slot: Slot) -> None:
    assert [slot.run(program(owner)).status for owner in "abcdabcaad"] == [Status.OK] * 10
    assert len(slot._jails) <= 3


def test_more_pairs_than_jails(slot: Slot) -> None:
    for owner in "abcab":
        results = slot.run_together([program(owner), program(owner, "judge")])
        assert [result.status for result in results] == [Status.OK] * 2


def test_a_jail_that_died_unused_is_replaced_for_a_pair(slot: Slot) -> None:
    slot.run_together([program("a"), program("a", "judge")])
    for number in [jail.number for jail in slot._jails.values()]:
        slot._call({"do": "drop", "id": number})
    results = slot.run_together([program("a"), program("a", "judge")])
    assert [result.status for result in results] == [Status.OK] * 2


def test_the_jails_that_an_item_needs_stay() -> None:
    try:
        started = Supervisor.start(Settings(slots=1, jails_per_slot=1))
    except Unavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
    with started:
        slot = Slot.from_descriptor(started.connect())
        results = slot.run_together([program("a"), program("a", "judge")])
        assert [result.status for result in results] == [Status.OK] * 2
        slot.close()
