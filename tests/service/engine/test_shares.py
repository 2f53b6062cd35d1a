"""One caller cannot use up what all share: the queue, its order, uploaded references, the names in metrics."""

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from types import FrameType
from typing import Any

import pytest

from assay.service.engine.errors import Overloaded
from assay.service.engine.intake.frames import OptionsFrame
from assay.service.engine.intake.work import VerifierFacts, Work
from assay.service.engine.kinds import LaneKind
from assay.service.engine.schedule.blame import State
from assay.service.engine.schedule.cache import ReferenceStore
from assay.service.engine.schedule.queue import FairQueue
from assay.service.engine.schedule.shares import FairBudget, admits
from assay.service.engine.schedule.tickets import Submission, Ticket, Waiter
from assay.service.engine.settings import Limits

from ..http.conftest import exact, served
from .conftest import item, running

FACTS = VerifierFacts(name="v", version=1, reads=frozenset(), sandboxed=False, cpu_s=1.0)
SEQ = itertools.count()


def ticket(owner: str = "", run: str = "", group: str | None = None) -> Ticket:
    work = Work(
        id="1", facts=FACTS, completion="x", reference=b"{}", reference_digest=b"", fields={}, owner=owner,
        group=group, run=run, options=OptionsFrame(),
    )  # fmt: skip
    made = Ticket(next(SEQ), b"", work, State(kind=LaneKind.TEXT))
    made.waiters[Waiter(Submission.__new__(Submission), 0, made)] = None
    return made


@contextmanager
def counted_lines() -> Iterator[list[int]]:
    """The lines of Python that run inside."""
    lines = [0]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        lines[0] += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


LABELS: dict[str, Callable[[int], Ticket]] = {
    "one run": lambda n: ticket(),
    "a run for each item": lambda n: ticket(run=str(n)),
    "a group for each item": lambda n: ticket(group=str(n)),
    "a run and a group for each item": lambda n: ticket(run=str(n), group=str(n)),
    "an owner for each item": lambda n: ticket(owner=str(n)),
    "owners with runs": lambda n: ticket(owner=str(n % 30), run=str(n)),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("most", [1, 16])
def test_the_work_of_the_queue_is_linear_whatever_the_labels(labels: str, most: int) -> None:
    def cost(count: int) -> float:
        queue = FairQueue(lambda ticket: 10.0)
        tickets = [LABELS[labels](n) for n in range(count)]
        with counted_lines() as lines:
            for one in tickets:
                queue.put(one)
            taken = 0
            while found := queue.take(most=most, budget_us=1e9):
                taken += len(found)
        assert taken == count and queue.size == queue.bytes == 0 and not queue.owners
        return lines[0] / count

    assert cost(3000) < 1.5 * cost(300) + 5


def test_cancelled_tickets_are_skipped_once() -> None:
    queue = FairQueue(lambda ticket: 10.0)
    for n in range(2000):
        one = ticket(run=str(n))
        if n % 500:
            one.waiters.clear()
        queue.put(one)
    with counted_lines() as lines:
        assert sum(len(taken) for taken in iter(lambda: queue.take(most=8, budget_us=1e9), [])) == 4
    assert lines[0] < 2000 * 60


@pytest.mark.parametrize("owners", [2, 3, 8])
def test_what_each_owner_is_served_is_equal(owners: int) -> None:
    queue = FairQueue(lambda ticket: 10.0)
    for n in range(400):
        queue.put(ticket(owner="flood", run=str(n)))
    for owner in range(1, owners):
        for _ in range(20):
            queue.put(ticket(owner=str(owner)))
    served_first = [queue.take(most=1, budget_us=1)[0].work.owner for _ in range(10 * owners)]
    assert {served_first.count(owner) for owner in set(served_first)} == {10}


def test_an_owner_is_admitted_whatever_the_others_hold() -> None:
    assert not admits(100, total=95, own=95, owners=1, amount=10)
    assert admits(100, total=100, own=0, owners=2, amount=100)
    assert admits(100, total=150, own=20, owners=2, amount=30)
    assert not admits(100, total=150, own=40, owners=2, amount=30)
    budget = FairBudget(100)
    assert budget.take("a", 100) and not budget.take("a", 1) and budget.take("b", 60) and not budget.take("b", 1)
    budget.give_back("b", 60)
    assert budget.total == 100 and not budget.take("a", 1) and budget.take("b", 1)


async def test_the_backlog_of_one_key_never_refuses_another() -> None:
    async with running(lanes=1, limits=Limits(queue_items=40, items=40)) as ask:
        flood = ask.submit([item(f"sleep 0.05 x{n}") for n in range(40)], owner="a")
        with pytest.raises(Overloaded):
            ask.submit([item(f"x{n}") for n in range(30)], owner="a")
        assert ask.engine.ready, ask.engine.unready
        others = [ask.submit([item("x"), item("x 2")], owner=owner) for owner in ("b", "c", "d")]
        assert flood.open == 40
        for other in others:
            assert [result["reward"] for result in await ask.finish(other)] == [1.0, 1.0]
        assert {result["reward"] for result in await ask.finish(flood)} == {1.0}


async def test_a_flood_of_cancelled_requests_stays_within_its_owners_bound() -> None:
    async with running(lanes=1, limits=Limits(queue_items=40, items=40)) as ask:
        blocker = ask.submit([item("sleep 3 x")], owner="a")
        refused = 0
        for round_ in range(20):
            try:
                ask.engine.cancel(ask.submit([item(f"x{round_} {n}") for n in range(30)], owner="a"))
            except Overloaded:
                refused += 1
        assert refused == 19 and ask.engine.depth <= 40
        ask.submit([item("x")], owner="b")
        ask.engine.cancel(blocker)


async def test_a_null_of_a_shared_item_is_told_to_each_in_turn() -> None:
    async with running(lanes=1) as ask:
        results = await ask(*[item("x", "picky", {"prepare": "raise"})] * 50, item("x"))
        assert [result["reward"] for result in results] == [None] * 50 + [1.0]


def test_uploads_of_one_owner_drop_only_their_own() -> None:
    store = ReferenceStore(1000, entry_bytes=400)
    kept = {digest(body): body for body in (b"b" * 100, b"c" * 100)}
    for name, body in kept.items():
        store.put("b", name, body)
    for n in range(50):
        body = b"%03d" % n * 100
        store.put("a", digest(body), body)
    assert {name: store.get("b", name) for name in kept} == kept
    assert store.get("a", digest(b"049" * 100)) == b"049" * 100 and store.get("a", digest(b"000" * 100)) is None
    assert store.get("a", next(iter(kept))) is None and sum(store._held.values()) <= 1000


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()


async def test_no_text_of_a_caller_is_a_label_of_metrics() -> None:
    async with served() as (_, http):
        rows = [exact() | {"verifier": f"made_up_{n}"} for n in range(50)] + [exact() | {"verifier": 'x"} 1\n'}]
        rows += [exact() | {"verifier": "exact@99"}, exact() | {"run": "secret-run", "group": "g-secret"}, exact()]
        await http.post("/v1/score", json={"items": rows})
        text = (await http.get("/metrics")).text
    assert not [line for line in text.splitlines() if "made_up" in line or "secret" in line or "@99" in line]
    assert 'verifier="unknown"' in text and 'verifier="exact@' in text
