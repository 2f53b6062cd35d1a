"""The scorers of reasoning_gym, guarded; skipped where the library is not installed (extra `gym`)."""

import json
import warnings
from typing import Any

import pytest

from assay.verifiers import Candidate, InvalidReference
from assay.verifiers.reasoning_gym import GymReference, GymVerifier
from assay.verifiers.registry import Registry

pytestmark = pytest.mark.packages
gym = pytest.importorskip("reasoning_gym")
VERIFIER = GymVerifier()


def entry(dataset: str) -> dict[str, Any]:
    return json.loads(json.dumps(gym.create_dataset(dataset, size=1, seed=3)[0]))


def score(dataset: str, answer: str, **options: Any) -> float:
    reference = GymReference(dataset=dataset, entry=entry(dataset), **options)
    return VERIFIER.verify(VERIFIER.prepare(reference), Candidate.of(answer)).reward


@pytest.mark.parametrize("dataset", ["basic_arithmetic", "word_sorting", "leg_counting", "caesar_cipher"])
def test_the_entrys_answer_is_right_and_junk_is_not(dataset: str) -> None:
    gold = entry(dataset)["answer"]
    assert score(dataset, f"So <answer>{gold}</answer>") == 1
    assert score(dataset, "<answer>junk</answer>") == score(dataset, gold) == 0


@pytest.mark.parametrize("dataset", ["countdown", "puzzle24", "simple_integration", "game_of_life_halting", "nothing"])
def test_faulty_scorers_refuse_the_row(dataset: str) -> None:
    own = entry(dataset if dataset in gym.factory.DATASETS else "leg_counting")
    with pytest.raises(InvalidReference):
        VERIFIER.prepare(GymReference(dataset=dataset, entry=own))


def test_a_scorer_that_raises_gives_0() -> None:
    assert score("prime_factorization", "<answer>not a number</answer>") == 0


def test_it_is_a_plugin() -> None:
    assert Registry(["assay.verifiers.reasoning_gym"]).get("reasoning_gym").version == 1


def test_most_datasets_can_be_used() -> None:
    warnings.simplefilter("ignore")
    usable = 0
    for dataset in gym.factory.DATASETS:
        try:
            VERIFIER.prepare(GymReference(dataset=dataset, entry=entry(dataset)))
        except (InvalidReference, AssertionError, ValueError):
            continue
        usable += 1
    assert usable > 70
