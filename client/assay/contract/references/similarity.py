"""The reference of `similarity`: how close the answer is to a gold text, by a metric of the field."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assay.contract.base import Reference
from assay.contract.references.exact import Extraction

Metric = Literal["chrf", "bleu", "rouge_l", "wer", "token_f1"]


class SimilarityReference(Reference):
    """A gold text, or several of which the closest counts, and the metric."""

    metric: Metric = Field(
        description="`chrf`, `bleu`: sacreBLEU's sentence scores divided by 100. `rouge_l`: F1 of the longest common "
        "subsequence of words. `wer`: 1 - word error rate, at least 0. `token_f1`: F1 of the words as a multiset."
    )
    gold: str | list[str] = Field(description="A text, or texts.")
    threshold: float | None = Field(
        None, gt=0, le=1, description="The reward is 1 from this similarity on, else 0. Without it: the similarity."
    )
    extract: Extraction = Field("whole", description="Extraction rule for the completion, as in `exact`.")
