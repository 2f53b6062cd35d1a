"""reasoning_gym through the converter: many families, and those with a faulty scorer are found."""

from __future__ import annotations

import asyncio
import json

import pytest

from assay.client import AsyncClient
from assay.datasets import Options, Record, convert, find
from assay.datasets.audit import Depth, audit
from assay.datasets.converters.gym import generated

pytestmark = pytest.mark.packages
pytest.importorskip("reasoning_gym")
FAULTY = {"boxnet", "rubiks_cube", "game_of_life_halting", "countdown", "simple_integration", "propositional_logic"}
"""Of research/trainers.md §4 and our own runs: no own answer, junk accepted, or text evaluated."""
SOUND = {"basic_arithmetic", "chain_sum", "leg_counting", "word_sorting", "caesar_cipher", "gcd", "prime_factorization"}


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)  # the library's
def test_the_audit_finds_faulty_scorers() -> None:
    left_out: list[str] = []
    rows = list(
        convert(generated([], size=1, seed=4), find("reasoning_gym"), Options(), lambda r, why: left_out.append(why))
    )
    families = {row["reference"]["dataset"] for row in rows}
    assert len(families) >= 40 and families >= FAULTY | SOUND and len(left_out) <= 3

    async def run() -> set[str]:
        async with AsyncClient("embedded:", plugins=["assay.verifiers.reasoning_gym"], lanes=1) as client:
            records = [Record("gym", n, json.loads(json.dumps(row))) for n, row in enumerate(rows, 1)]
            report = await audit(client, records, depth=Depth(mutants=False))
            return {name.rpartition("-")[0] for name in report.flagged()}

    flagged = asyncio.run(run())
    assert flagged >= FAULTY and not flagged & SOUND
    assert len(families) - len(flagged) >= 40
