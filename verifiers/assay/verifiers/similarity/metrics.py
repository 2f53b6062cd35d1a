"""Metrics of text similarity in [0, 1]. Each takes the answer and one gold.

Words, for the metrics over words, are runs of letters and digits after case folding; a number with its sign and decimal
point is one word, so 1.5 is not 15 and -5 is not 5. Subsequences and edit distances come from rapidfuzz
(https://github.com/rapidfuzz/RapidFuzz, MIT), sentence BLEU and chrF from sacreBLEU
(https://github.com/mjpost/sacrebleu, Apache-2.0).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping

from rapidfuzz.distance import LCSseq, Levenshtein
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

_BLEU, _CHRF = BLEU(effective_order=True), CHRF()
_WORD = re.compile(r"(?<!\w)[-−+]?\d+(?:[.,]\d+)*|[^\W_]+")
Similarity = Callable[[str, str], float]


def words(text: str) -> list[str]:
    """Return the words of a text, case folded."""
    return [word.replace("−", "-") for word in _WORD.findall(text.casefold())]


def token_f1(answer: str, gold: str) -> float:
    """Return the F1 of the two multisets of words (the measure of SQuAD, Rajpurkar et al. 2016; articles count)."""
    made, wanted = words(answer), words(gold)
    return _f1((Counter(made) & Counter(wanted)).total(), len(made), len(wanted))


def rouge_l(answer: str, gold: str) -> float:
    """Return the F1 of the longest common subsequence of words (Lin 2004, with beta = 1)."""
    made, wanted = words(answer), words(gold)
    return _f1(LCSseq.similarity(made, wanted), len(made), len(wanted))


def wer(answer: str, gold: str) -> float:
    """Return 1 minus the word error rate: edits of words divided by the gold's words; at least 0."""
    made, wanted = words(answer), words(gold)
    return max(0.0, 1 - Levenshtein.distance(made, wanted) / len(wanted)) if wanted else 0.0


def _f1(common: int, made: int, wanted: int) -> float:
    return 2 * common / (made + wanted) if made + wanted else 0.0


def bleu(answer: str, gold: str) -> float:
    """Return sentence BLEU divided by 100 (tokenizer 13a, exponential smoothing, effective order)."""
    return min(1.0, float(_BLEU.sentence_score(answer, [gold]).score) / 100)


def chrf(answer: str, gold: str) -> float:
    """Return chrF2 divided by 100 (character 6-grams)."""
    return min(1.0, float(_CHRF.sentence_score(answer, [gold]).score) / 100)


METRICS: Mapping[str, Similarity] = {
    "bleu": bleu,
    "chrf": chrf,
    "rouge_l": rouge_l,
    "token_f1": token_f1,
    "wer": wer,
}
"""The metrics by name."""
