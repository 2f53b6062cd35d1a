"""Pacing bounds the lag of every trained group; the rule with the trainer's version does not."""

import heapq
import random

import pytest

from assay.buffer import Buffer, Pacing


def largest_lag(*, lag: int, publish_every: int, by_trainer: bool, seed: int, workers: int = 4, batch: int = 4) -> int:
    """Run workers with random speeds against a trainer, and return the greatest lag that trained.

    A worker holds the version that it loaded when its last group ended. `by_trainer`: start while the *trainer's*
    version gives room, as systems do that read one global version.
    """
    dice = random.Random(seed)
    table = Buffer(pacing=Pacing(batch=batch, lag=lag))
    held, trained, published, worst, now = [0] * workers, 0, 0, 0, 0.0
    speed = [dice.choice([1.0, 1.0, 8.0]) for _ in range(workers)]
    events: list[tuple[float, int, int]] = []
    idle = set(range(workers))
    while trained < 40:
        for worker in sorted(idle):
            held[worker] = published
            version = trained if by_trainer else held[worker]
            if table.room(version=version) > 0:
                number = table.draw()
                table.start(number, version=held[worker])
                length = dice.choice([1.0] * 9 + [16.0])
                heapq.heappush(events, (now + speed[worker] * length, worker, number))
                idle.discard(worker)
        if not events:
            assert published < trained, "nothing can start at the trainer's own version: a deadlock"
            published = trained
            continue
        now, worker, number = heapq.heappop(events)
        idle.add(worker)
        table.judge(number, [])
        table.admit(number)
        versions = {one.number: one.version for one in table.open.values()}
        if table.ready():
            chosen = table._ready[:batch]
            worst = max([worst, *(trained - (versions[one] or 0) for one in chosen)])
            for one in chosen:
                table.open[one].version = trained  # so that the stale rule, the backstop, never acts here
            assert table.take() == chosen
            trained += 1
            if trained % publish_every == 0:
                published = trained
    return worst


@pytest.mark.parametrize("lag", [0, 1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_no_trained_group_exceeds_the_lag(lag: int, seed: int) -> None:
    for publish_every in range(1, lag + 2):
        assert largest_lag(lag=lag, publish_every=publish_every, by_trainer=False, seed=seed) <= lag


def test_the_rule_with_the_trainers_version_exceeds_it() -> None:
    assert max(largest_lag(lag=2, publish_every=3, by_trainer=True, seed=seed) for seed in range(10)) > 2
