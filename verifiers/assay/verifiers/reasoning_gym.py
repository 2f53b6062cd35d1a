"""`reasoning_gym`: entries of that library, scored by its own scorers, with guards against their known faults.

An optional plugin: install the extra `gym` and name `assay.verifiers.reasoning_gym` in the plugins of the settings. The
guards come from running the library's 106 scorers on junk answers. A scorer that evaluates text (`parse_expr`, `eval`)
is refused, because completions are never evaluated. A row is refused if its scorer does not give its gold 1 (entries
whose tuples became lists in JSON), or gives junk 1. A scorer that raises on a completion gives 0. The credit that many
scorers give junk (0.01 to 0.05) is removed: rewards are binary, or with `partial` only the credit above that floor.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from assay.contract.base import Reference
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.exact.extractors import EXTRACTORS

_EVALUATES = frozenset({"eval", "exec", "compile", "parse_expr", "sympify", "lambdify", "parse_latex", "system"})
_JUNK = ("", "nonsense", "0", "(", "[]", "None", "9" * 50)
_LONGEST = 20_000
Scorer = Callable[[str, Mapping[str, Any]], float]


class GymReference(Reference):
    """An entry of a reasoning_gym dataset."""

    dataset: str = Field(min_length=1, description="Name of the dataset.")
    entry: dict[str, Any] = Field(description="The entry: `answer` and `metadata`.")
    extract: Literal["whole", "answer_tag", "boxed", "answer_line"] = Field(
        "answer_tag", description="Extraction rule."
    )
    partial: bool = Field(False, description="Also give the scorer's partial credit above what it gives junk.")


@dataclass(frozen=True, kw_only=True)
class GymSpec:
    """A prepared row. `floor`: what the scorer gives junk."""

    reference: GymReference
    scorer: Scorer
    floor: float


class GymVerifier(Verifier[GymReference, GymSpec]):
    """Score entries of reasoning_gym with the library's own scorers."""

    name = "reasoning_gym"
    version = 1
    reference_model = GymReference
    budget = Budget(prepare_cpu_s=30.0, verify_cpu_s=5.0)

    def prepare(self, reference: GymReference) -> GymSpec:
        """Find the scorer and try it on the gold and on junk. Raises `InvalidReference`."""
        if not isinstance(reference.entry.get("metadata"), dict):
            raise InvalidReference("an entry must have metadata", field="entry.metadata")
        scorer, gold = _scorer(reference.dataset), reference.entry.get("answer")
        if not isinstance(gold, str) or _score(scorer, gold, reference.entry) != 1:
            raise InvalidReference("the dataset's scorer does not accept the entry's own answer", field="entry.answer")
        floor = max(_score(scorer, junk, reference.entry) for junk in _JUNK if junk != gold)
        if floor >= 1:
            raise InvalidReference("the dataset's scorer accepts junk answers", field="dataset")
        return GymSpec(reference=reference, scorer=scorer, floor=floor)

    def verify(self, spec: GymSpec, candidate: Candidate) -> Verdict:
        """Extract the answer and score it."""
        answer = candidate.answer
        found = None if answer is None else EXTRACTORS[spec.reference.extract].last(answer.text)
        if found is None or not found.text or len(found.text) > _LONGEST:
            return Verdict(reward=0.0, score=0.0, reason="no_answer", message=candidate.message_index)
        raw = _score(spec.scorer, found.text, spec.reference.entry)
        score = 1.0 if raw >= 1 else raw if spec.reference.partial and raw > spec.floor else 0.0
        return Verdict(
            reward=score,
            score=score,
            reason="equal" if score == 1 else "unequal",
            extracted=found.text,
            message=candidate.message_index,
        )


def _scorer(dataset: str) -> Scorer:
    """Return the scorer of a dataset. Raises `InvalidReference`, or `ImportError` without the library."""
    from reasoning_gym.factory import DATASETS

    if dataset not in DATASETS:
        raise InvalidReference("unknown dataset", field="dataset")
    made, config = DATASETS[dataset]
    if _evaluates_text(made):
        raise InvalidReference("the dataset's scorer evaluates text", field="dataset")
    try:
        scorer: Scorer = made(config=config()).score_answer
    except Exception as failure:
        raise InvalidReference(f"the dataset cannot be created: {type(failure).__name__}", field="dataset") from failure
    return scorer


def _evaluates_text(made: type) -> bool:
    """Return whether the module of a scorer calls anything that evaluates text."""
    module = sys.modules[made.score_answer.__module__]  # type: ignore[attr-defined]
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _EVALUATES and not _is_pattern(node):
                return True
    return False


def _is_pattern(node: ast.Call) -> bool:
    """Return whether the call is `re.compile`."""
    return isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "re"


def _score(scorer: Scorer, answer: str, entry: Mapping[str, Any]) -> float:
    """Return the scorer's score of an answer, or 0 if it raises or returns no finite number."""
    try:
        score = float(scorer(answer, entry))
    except Exception:  # many scorers raise on unusual text
        return 0.0
    return score if math.isfinite(score) else 0.0
