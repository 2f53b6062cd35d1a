"""`similarity` in a confined lane: every metric works there, and a long completion costs no lane."""

import pytest

from assay.client import Client

GOLD = "the cat sat on the mat"


@pytest.fixture(scope="module")
def client() -> object:
    with Client("embedded:", lanes=1) as client:
        yield client


@pytest.mark.parametrize("metric", ["bleu", "chrf", "rouge_l", "token_f1", "wer"])
def test_every_metric_is_measured(client: Client, metric: str) -> None:
    reference = {"metric": metric, "gold": GOLD}
    texts = [GOLD, "the cat sat on a mat", "quarks", GOLD * 20_000]
    items = [{"verifier": "similarity", "completion": text, "reference": reference} for text in texts]
    right, near, wrong, long = [result.reward for result in client.score(items)]
    assert right == pytest.approx(1) and 0.4 < near < 1 and wrong < 0.2 and long is not None and long < 0.2
