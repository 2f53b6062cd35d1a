"""`similarity`: a number in [0, 1] that says how close the answer is to a gold text; of several golds, the closest.

Similarity is no correctness: a high score can be had without the one word that matters. Use it where no rule decides,
and beside other parts of a `composite`.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.contract.references.similarity import SimilarityReference
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.exact.extractors import EXTRACTORS, Extractor
from assay.verifiers.similarity.metrics import METRICS, Similarity

SHOWN = 1_000
"""Maximum number of code points of the extracted text in a result."""
_SELF = 1 - 1e-9
"""A gold that is not similar to itself has nothing that the metric counts."""


@dataclass(frozen=True)
class SimilaritySpec:
    """A prepared row."""

    golds: tuple[str, ...]
    measure: Similarity
    extractor: Extractor
    reference: SimilarityReference


class SimilarityVerifier(Verifier[SimilarityReference, SimilaritySpec]):
    """Measure how close an answer is to a gold text: chrF, BLEU, ROUGE-L, word error rate, token F1."""

    name = "similarity"
    version = 1
    reference_model = SimilarityReference
    budget = Budget(prepare_cpu_s=5.0, verify_cpu_s=5.0)

    def prepare(self, reference: SimilarityReference) -> SimilaritySpec:
        """Check the golds. Raises `InvalidReference` for one in which the metric finds nothing."""
        golds = (reference.gold,) if isinstance(reference.gold, str) else tuple(reference.gold)
        measure = METRICS[reference.metric]
        if not golds or any(not gold.strip() or measure(gold, gold) < _SELF for gold in golds):
            raise InvalidReference("empty, or nothing in it counts for this metric", field="gold")
        return SimilaritySpec(golds, measure, EXTRACTORS[reference.extract], reference)

    def verify(self, spec: SimilaritySpec, candidate: Candidate) -> Verdict:
        """Extract the answer and measure it."""
        answer = candidate.answer
        found = None if answer is None else spec.extractor.last(answer.text)
        if answer is None or found is None or not found.text:
            return Verdict(reward=0.0, score=0.0, reason="no_answer", message=candidate.message_index)
        value = max(spec.measure(found.text, gold) for gold in spec.golds)
        threshold = spec.reference.threshold
        score = value if threshold is None else float(value >= threshold)
        explanation = {"metric": spec.reference.metric, "similarity": value, "threshold": threshold}
        return Verdict(
            reward=score,
            score=score,
            reason="equal" if value >= (threshold or _SELF) else "unequal",
            extracted=found.text[:SHOWN],
            span=(answer.offset + found.start, answer.offset + found.end),
            message=answer.message,
            explanation=explanation if candidate.explain else {},
        )
