"""`math` against math-verify 0.9, verdict by verdict, every disagreement in a class.

Hard cases carry their right verdict; rewrites and mutants of published answers have theirs by construction.
A disagreement's class is the case's kind, or the rewrite's or mutant's name; each line says who was right.
"""

from __future__ import annotations

import random
from collections import Counter

from bench._table import show
from bench.math import SHARED, assay_math, labelled, lines, peer

ANSWERS = 150


def main() -> None:
    """Print the disagreements, counted by class."""
    if not (SHARED / "data").exists():
        print("left out: the shared data is not here")
        return
    from tests.verifiers.math.rewrites import MUTANTS, REWRITES, applied

    kinds = [str(row["kind"]) for row in lines("cases/math.jsonl") if row["kind"] != "robust"]
    items = [(f"case: {kind}", *pair) for kind, pair in zip(kinds, labelled("cases/math.jsonl"), strict=True)]
    answers = [row["answer"] for row in lines("data/math_golds.jsonl")]
    for gold in random.Random(1).sample(answers, ANSWERS):
        items += [(f"rewrite: {name}", gold, f"\\boxed{{{text}}}", 1.0) for name, text in applied(gold, REWRITES)]
        items += [(f"mutant: {name}", gold, f"\\boxed{{{text}}}", 0.0) for name, text in applied(gold, MUTANTS)]
    own, other = assay_math(), peer()
    counts: Counter[tuple[str, str]] = Counter()
    agreed = 0
    for name, gold, completion, expected in items:
        verdicts = own(gold, completion), other(gold, completion)
        if verdicts[0] == verdicts[1]:
            agreed += 1
        else:
            counts[name, "assay" if verdicts[0] == (expected == 1.0) else "math-verify"] += 1
    table = [[name, right, count] for (name, right), count in sorted(counts.items())]
    show(["disagreement", "who is right", "count"], table)
    print(f"agreed on {agreed} of {len(items)}; disagreed on {len(items) - agreed}")
