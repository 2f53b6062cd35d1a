"""`math` beside math-verify 0.9 on the same rows in the same run: integer answers, real completions, published
answers, hard cases. CPU seconds of this process; the gold is read once per group by both, as a service would.

Also shown: p50, p95 and the largest CPU time of one verdict, right verdicts of each, and memory. The peer runs
without its timeouts (they cost it nothing else), so hard cases that it never finishes are left out for both.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench._table import show

SHARED = Path(__file__).parents[2] / "shared"
Pair = tuple[str, str, float]
"""Gold, completion, expected reward."""
MOST = 1_300
"""Rows of one set that the peer is run on."""
GOLDS = 600
"""Number of published answers that the peer is run on (it takes 20 ms each)."""


def lines(name: str) -> list[dict[str, Any]]:
    """Return the rows of a shared file."""
    return [json.loads(line) for line in (SHARED / name).open(encoding="utf-8")]


def integers() -> list[Pair]:
    """Return GSM8K's worked answers, boxed as a model does, with their own and a wrong gold."""
    pairs = []
    for row in lines("data/gsm8k_test.jsonl"):
        worked, _, gold = row["answer"].partition("####")
        completion = f"{worked}The answer is $\\boxed{{{gold.strip()}}}$."
        pairs += [(gold.strip(), completion, 1.0), (gold.strip() + "1", completion, 0.0)]
    return pairs


def hash_lines() -> list[Pair]:
    """Return GSM8K's worked answers unchanged: `#### 42`."""
    rows = lines("data/gsm8k_test.jsonl")
    return [(row["answer"].partition("####")[2].strip(), row["answer"], 1.0) for row in rows]


def labelled(name: str) -> list[Pair]:
    """Return the labelled rows without hostile ones (on which the peer would not finish)."""
    rows = [row for row in lines(name) if row.get("kind") != "robust"]
    return [(row["reference"]["answer"], row["completion"], row["expected"]) for row in rows]


def prose() -> list[Pair]:
    """Outputs of real models on GSM8K without a box, right and wrong ones."""
    return labelled("data/prose_gsm8k.jsonl")


def golds() -> list[Pair]:
    """Return published answers, each in a box."""
    rows = lines("data/math_golds.jsonl")
    step = max(1, len(rows) // GOLDS)
    return [(row["answer"], f"\\boxed{{{row['answer']}}}", 1.0) for row in rows[::step]]


Scorer = Callable[[str, str], bool]


def assay_math() -> Scorer:
    """Return `math` with `auto`, the gold prepared once."""
    from assay.contract.references.math import MathReference
    from assay.verifiers.candidate import Candidate
    from assay.verifiers.errors import NoVerdict
    from assay.verifiers.math import MathVerifier

    verifier = MathVerifier()
    specs: dict[str, Any] = {}

    def score(gold: str, completion: str) -> bool:
        if gold not in specs:
            try:
                specs[gold] = verifier.prepare(MathReference(answer=gold, extract="auto"))
            except NoVerdict:
                return False
        return verifier.verify(specs[gold], Candidate.of(completion)).reward == 1.0

    return score


def peer() -> Scorer:
    """Return math-verify with its defaults, gold parsed once, timeouts off."""
    import logging

    from math_verify import parse, verify

    logging.disable(logging.ERROR)
    parsed: dict[str, Any] = {}

    def score(gold: str, completion: str) -> bool:
        if gold not in parsed:
            parsed[gold] = parse(f"\\boxed{{{gold}}}", parsing_timeout=None)
        answer = parse(completion, parsing_timeout=None)
        return bool(verify(parsed[gold], answer, timeout_seconds=None))

    return score


def run(score: Scorer, pairs: Iterable[Pair]) -> tuple[list[float], int, int]:
    """Return CPU seconds per pair, the number of correct verdicts, and of wrong answers that were accepted."""
    spent, right, paid = [], 0, 0
    for gold, completion, expected in pairs:
        started = time.process_time()
        verdict = score(gold, completion)
        spent.append(time.process_time() - started)
        right += verdict == (expected == 1.0)
        paid += verdict and expected != 1.0
    return spent, right, paid


def memory_mb() -> float:
    """Return the largest resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def row(name: str, result: tuple[list[float], int, int], base: float) -> list[object]:
    """Return a line of the table; `base` is the peer's seconds per pair."""
    spent, right, paid = result
    ordered, mean = sorted(spent), sum(spent) / len(spent)
    p50, p95 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    shares = [f"{right}/{len(spent)}", paid]
    return [name, 1 / mean, p50 * 1e6, p95 * 1e6, ordered[-1] * 1e6, *shares, memory_mb(), base / mean]


def main() -> None:
    """Print the table."""
    if not (SHARED / "data").exists():
        print("left out: the shared data is not here")
        return
    mine = assay_math()
    run(mine, [("2\\sqrt2", "\\boxed{\\sqrt8}", 1.0)])  # imports, once
    sets: list[tuple[str, list[Pair]]] = [
        ("integer answers, boxed", integers()),
        ("integer answers, ####", hash_lines()),
        ("math_cot", labelled("data/math_cot.jsonl")),
        ("math_golds", golds()),
        ("prose_gsm8k", prose()),
        ("hard cases 2", labelled("cases/math2.jsonl")),
        ("hard cases", labelled("cases/math.jsonl")),
    ]
    results = [(name, pairs, run(mine, pairs)) for name, pairs in sets]
    rows = [(name, pairs, row(f"{name}: assay", result, 0.0), result) for name, pairs, result in results]
    other = peer()
    run(other, [("2\\sqrt2", "\\boxed{\\sqrt8}", 1.0)])
    table: list[list[object]] = []
    for name, pairs, cells, result in rows:
        share = pairs[:MOST]
        baseline = run(other, share)
        base = sum(baseline[0]) / len(share)
        table.append(row(f"{name}: math-verify", baseline, base))
        table.append([*cells[:-1], base * len(result[0]) / sum(result[0])])
    show(["rows", "/s/core", "p50 µs", "p95 µs", "max µs", "right", "paid wrongly", "MB", "times"], table)


if __name__ == "__main__":
    main()
