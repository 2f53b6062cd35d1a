"""pass@k and maj@k, with confidence intervals.

pass@k is the unbiased estimator 1 - C(n-c, k) / C(n, k) for a prompt with c correct of n samples (Chen et al. 2021,
section 2.1), averaged over prompts. maj@k is the probability that the most frequent answer among k samples drawn
without replacement is right, ties split evenly (Wang et al. 2022); it is exact: draws are counted by how many samples
of each answer they hold. Intervals: percentile bootstrap over prompts, seeded. Samples without a verdict are excluded
and counted.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

RIGHT = "\0right"
"""The answer of every correct sample: all correct answers of a prompt count as one, however they are written."""
DRAWS = 1000
_Ways = dict[tuple[int, int], int]
"""Number of ways by (samples drawn, wrong answers that tie with the right one)."""


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the estimate for one prompt: `c` correct of `n` samples. Raises `ValueError` for k > n."""
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError("need 0 <= c <= n and 1 <= k <= n")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def majority_at_k(answers: Sequence[tuple[str, bool]], k: int) -> float:
    """Return the probability that a vote of `k` of these samples, each (answer, right), is right. All right answers
    count as one; samples without an answer do not vote. Raises `ValueError` for k > n.
    """
    n = len(answers)
    if not 1 <= k <= n:
        raise ValueError("need 1 <= k <= n")
    right = sum(correct for _, correct in answers)
    wrong = Counter(answer for answer, correct in answers if answer and not correct)
    blank = n - right - wrong.total()
    sizes = Counter(wrong.values())
    won = Fraction(0)
    for votes in range(1, min(right, k) + 1):
        ways = _losing_draws(sizes, votes, k - votes)
        for (drawn, ties), count in ways.items():
            won += Fraction(math.comb(right, votes) * count * math.comb(blank, k - votes - drawn), ties + 1)
    return float(won / math.comb(n, k))


def _losing_draws(sizes: Mapping[int, int], votes: int, most: int) -> _Ways:
    """Return the ways to draw at most `most` wrong samples of which no answer has more than `votes`. `sizes`: how many
    wrong answers there are by their number of samples.
    """
    ways: _Ways = {(0, 0): 1}
    for size, count in sizes.items():
        one = {(j, int(j == votes)): math.comb(size, j) for j in range(min(size, votes, most) + 1)}
        ways = _product(ways, _power(one, count, most), most)
    return ways


def _power(ways: _Ways, exponent: int, most: int) -> _Ways:
    result: _Ways = {(0, 0): 1}
    while exponent:
        if exponent & 1:
            result = _product(result, ways, most)
        ways = _product(ways, ways, most) if exponent > 1 else ways
        exponent >>= 1
    return result


def _product(one: _Ways, other: _Ways, most: int) -> _Ways:
    made: _Ways = {}
    for (drawn, ties), count in one.items():
        for (more, further), ways in other.items():
            if drawn + more <= most:
                key = (drawn + more, ties + further)
                made[key] = made.get(key, 0) + count * ways
    return made


def interval(values: Sequence[float], *, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """Return the bounds of the mean of `values`, by bootstrap over prompts."""
    if len(values) < 2:
        return (0.0, 1.0)
    draw, count = random.Random(seed), len(values)
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(DRAWS))
    low = int((1 - level) / 2 * DRAWS)
    return means[low], means[DRAWS - 1 - low]


@dataclass
class Samples:
    """The samples of one source, by prompt."""

    groups: dict[str, list[tuple[str, bool]]] = field(default_factory=lambda: defaultdict(list))
    no_verdict: int = 0
    votes: bool = False
    """Whether any sample has an answer to vote for."""

    def add(self, group: str, result: Mapping[str, object] | None) -> None:
        """Add one sample. It is correct if its score (or its reward, without a score) is 1."""
        if not isinstance(result, Mapping) or result.get("reward") is None:
            self.no_verdict += 1
            return
        score = result["reward"] if result.get("score") is None else result["score"]
        extracted = result.get("extracted")
        self.votes = self.votes or extracted is not None
        self.groups[group].append((RIGHT if score == 1 else _answer(extracted), score == 1))

    def pass_at(self, k: int) -> list[float]:
        """Return the pass@k estimates of the prompts with at least k samples."""
        return [pass_at_k(len(g), sum(right for _, right in g), k) for g in self.groups.values() if len(g) >= k]

    def majority_at(self, k: int) -> list[float]:
        """Return the maj@k estimates of the prompts with at least k samples."""
        return [majority_at_k(g, k) for g in self.groups.values() if len(g) >= k] if self.votes else []


def _answer(extracted: object) -> str:
    return "" if extracted is None else " ".join(str(extracted).split())
