"""The rollout buffer: each draw ends once, batches follow draws, a kill at any moment loses nothing."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from assay.buffer import Buffer, BufferFailed, GroupState, Pacing, Reason, StoredSample
from assay.buffer.states import FINAL, TRANSITIONS

B = 4


def buffer(path: Path | None = None, **options: object) -> Buffer:
    pacing = Pacing(batch=B, lag=options.pop("lag", 1), waits=options.pop("waits", True))  # type: ignore[arg-type]
    return Buffer(path, pacing=pacing, **options)  # type: ignore[arg-type]


def sample(index: int = 0, *, tokens: int = 3) -> StoredSample:
    return StoredSample(
        index=index, ids=list(range(tokens)), mask=[True] * tokens, logps=[-0.1] * tokens, spans=[(0, tokens)],
        text="ok", grade={"reward": 1.0},
    )  # fmt: skip


def run_group(table: Buffer, number: int, *, version: int = 0, admit: bool = True) -> None:
    table.start(number, version=version)
    table.judge(number, [sample()])
    table.admit(number) if admit else table.drop(number, Reason.ZERO_VARIANCE)


def test_batches_follow_the_order_of_draws_and_wait_for_an_earlier_open_group() -> None:
    table = buffer()
    numbers = [table.draw() for _ in range(6)]
    for number in numbers:
        table.start(number, version=0)
    for number in [5, 4, 3, 2, 1]:
        table.judge(number, [sample()])
        table.admit(number)
    assert not table.ready() and table.blocked_by() == 0
    table.judge(0, [sample()])
    table.drop(0, Reason.ZERO_VARIANCE)
    assert table.ready() and table.take() == [1, 2, 3, 4]
    assert table.accounts() == {"trained": 4, "dropped:zero_variance": 1, "admitted": 1}


def test_a_group_that_the_deadline_ends_does_not_block_the_batch() -> None:
    table = buffer()
    for number in [table.draw() for _ in range(5)]:
        table.start(number, version=0)
    for number in range(1, 5):
        table.judge(number, [sample()])
        table.admit(number)
    table.drop(0, Reason.DEADLINE)
    assert table.take() == [1, 2, 3, 4]


def test_a_batch_is_taken_short_after_its_draws_and_counts_as_full() -> None:
    table = buffer(max_draws=6)
    for number in [table.draw() for _ in range(6)]:
        run_group(table, number, admit=number < 2)
    assert table.take() == [0, 1] and table.accepted == B


def test_stale_groups_are_dropped_and_counted_and_do_not_train() -> None:
    table = buffer(lag=0)
    for number in [table.draw() for _ in range(6)]:
        run_group(table, number)
    assert table.take() == [0, 1, 2, 3]
    for number in [table.draw() for _ in range(4)]:
        run_group(table, number, version=1)
    assert table.take() == [6, 7, 8, 9] and table.accounts()["dropped:stale"] == 2


def test_in_the_order_of_completion_nothing_waits() -> None:
    table = buffer(waits=False, order="finished")
    for number in [table.draw() for _ in range(5)]:
        table.start(number, version=0)
    for number in [4, 2, 3, 1]:
        table.judge(number, [sample()])
        table.admit(number)
    assert table.take() == [1, 2, 3, 4] and table.oldest_admitted() is None


@pytest.mark.parametrize("before", list(GroupState))
@pytest.mark.parametrize("after", list(GroupState))
def test_only_the_listed_transitions_are_possible(before: GroupState, after: GroupState) -> None:
    table = buffer()
    number = table.draw()
    table.open[number].state = before
    if before in FINAL:
        del table.open[number]
    if after in TRANSITIONS[before]:
        table._move(number, after)
        assert (number in table.open) == (after not in FINAL)
    else:
        with pytest.raises(ValueError, match="group 0"):
            table._move(number, after)


def test_a_sample_is_stored_bit_for_bit(tmp_path: Path) -> None:
    table = buffer(tmp_path / "buffer.sqlite")
    number = table.draw()
    table.start(number, version=3)
    stored = StoredSample(
        index=2, ids=[1, 2**40, 0], mask=[True, False, True], logps=[-0.1, float("nan"), -1e-300],
        spans=[(3, 2), (4, 1)], text="é\x00\n", truncated=True, grade={"reward": None, "reason": "outage"},
    )  # fmt: skip
    table.judge(number, [stored])
    (got,) = table.samples(number)
    assert repr(got) == repr(stored)


def test_a_restart_continues_with_running_groups_under_their_numbers(tmp_path: Path) -> None:
    table = buffer(tmp_path / "buffer.sqlite")
    for number in [table.draw() for _ in range(6)]:
        table.start(number, version=0)
    for number in (0, 1, 2, 4):
        table.judge(number, [sample()])
        table.admit(number)
    table.close()
    again = buffer(tmp_path / "buffer.sqlite")
    assert {one.number: one.state.value for one in again.open.values()} == {
        0: "admitted", 1: "admitted", 2: "admitted", 3: "drawn", 4: "admitted", 5: "drawn"
    }  # fmt: skip
    assert again.next_number == 6 and not again.ready()
    run_group(again, 3)
    assert again.take() == [0, 1, 2, 3] and again.open[5].attempts == 1


def test_batches_after_a_checkpoint_are_replayed_as_recorded(tmp_path: Path) -> None:
    table = buffer(tmp_path / "buffer.sqlite")
    for step in range(3):
        for number in [table.draw() for _ in range(B)]:
            run_group(table, number, version=step)
        table.take(figures=lambda numbers, step=step: {"numbers": list(numbers), "step": step})
    table.close()
    again = buffer(tmp_path / "buffer.sqlite")
    assert again.recorded(after=1) == {
        2: {"numbers": [4, 5, 6, 7], "step": 1},
        3: {"numbers": [8, 9, 10, 11], "step": 2},
    }
    assert again.trained_in(2) == again.ended_in(2) == [4, 5, 6, 7] and again.taken == 3
    assert [len(again.samples(number)) for number in again.trained_in(3)] == [1] * B


def test_pruned_batches_keep_texts_and_verdicts(tmp_path: Path) -> None:
    table = buffer(tmp_path / "buffer.sqlite")
    for number in [table.draw() for _ in range(B)]:
        run_group(table, number)
    table.take()
    table.prune(1)
    (kept,) = table.samples(0)
    assert kept.ids == [] and kept.text == "ok" and kept.grade == {"reward": 1.0}


def test_a_rewound_buffer_draws_the_same_numbers_again(tmp_path: Path) -> None:
    table = buffer(tmp_path / "buffer.sqlite")
    for _ in range(2):
        for number in [table.draw() for _ in range(B)]:
            run_group(table, number, version=1)
        table.take()
    table.rewind(step=1, first=B)
    assert table.taken == 1 and table.draw() == B and table.recorded(after=1) == {}


def test_what_is_open_at_the_end_is_returned() -> None:
    table = buffer()
    numbers = [table.draw() for _ in range(3)]
    run_group(table, numbers[0])
    table.start(numbers[1], version=0)
    table.end()
    assert table.accounts() == {"returned": 3} and not table.open


def test_one_process_owns_the_file_and_one_run(tmp_path: Path) -> None:
    table = buffer(tmp_path / "buffer.sqlite", fingerprint="a")
    table.draw()
    with pytest.raises(BufferFailed, match="another process"):
        buffer(tmp_path / "buffer.sqlite", fingerprint="a")
    table.close()
    with pytest.raises(BufferFailed, match="another run"):
        buffer(tmp_path / "buffer.sqlite", fingerprint="b")


def test_a_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    table = buffer(tmp_path / "buffer.sqlite")
    table._store._db.execute("PRAGMA max_page_count = 20")
    with pytest.raises(BufferFailed, match="disk is full"):
        for _ in range(100):
            number = table.draw()
            table.start(number, version=0)
            table.judge(number, [sample(tokens=1000)])


VICTIM = textwrap.dedent("""
    import pathlib, random, sys
    from assay.buffer import Buffer, Pacing, Reason, StoredSample
    table = Buffer(pathlib.Path(sys.argv[1]), pacing=Pacing(batch=4, lag=1))
    dice = random.Random(int(sys.argv[2]))
    print("up", flush=True)
    while True:
        with table.changes():
            waiting = [one.number for one in table.open.values() if one.state == "drawn"]
            if table.room(version=table.taken):
                number = waiting[0] if waiting else table.draw()
                table.start(number, version=table.taken)
            running = [one.number for one in table.open.values() if one.state == "running"]
            if running and dice.random() < 0.6:
                number = dice.choice(running)
                table.judge(number, [StoredSample(index=0, ids=[1], text="x")])
                table.admit(number) if dice.random() < 0.8 else table.drop(number, Reason.ZERO_VARIANCE)
        if table.ready():
            table.take()
""")


def test_killed_at_any_moment_every_draw_ends_once(tmp_path: Path) -> None:
    """Twenty kills of one run; then the accounts add up, and every batch has its groups in the order of draws."""
    path = tmp_path / "buffer.sqlite"
    dice = random.Random(0)
    for turn in range(20):
        command = [sys.executable, "-c", VICTIM, str(path), str(turn)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as victim:
            assert victim.stdout is not None and victim.stdout.readline() == b"up\n"
            time.sleep(dice.random() * 0.05)
            victim.send_signal(signal.SIGKILL)
    table = buffer(path)
    table.end()
    accounts = table.accounts()
    assert set(accounts) <= {"trained", "returned", "dropped:zero_variance"}
    assert sum(accounts.values()) == table.next_number and accounts["trained"] == B * table.taken > 0
    batches = [table.trained_in(step) for step in range(1, table.taken + 1)]
    flat = [number for batch in batches for number in batch]
    assert flat == sorted(flat) and len(set(flat)) == len(flat)
