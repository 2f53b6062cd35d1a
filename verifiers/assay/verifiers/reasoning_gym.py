"""`reasoning_gym`: entries of that library, scored by its own scorers, with their known faults guarded.

An optional plugin: install the extra `gym` and name `assay.verifiers.reasoning_gym` in the plugins of the settings.
Guards, all of them found by running the library's 106 scorers on junk: a scorer that evaluates text (`parse_expr`,
`eval`) is refused, for completions are never evaluated; so is a row whose gold it does not score 1 (entries that lost
their tuples on the way through JSON), or that it scores 1 on junk. A scorer that raises on a completion gives 0. What
it pays for junk (0.01 to 0.05 in many) is no credit: binary, or with `partial` only what is above that floor.
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

    dataset: str = Field(min_length=1, description="The dataset's name.")
    entry: dict[str, Any] = Field(description="The entry: `answer` and `metadata`.")
    extract: Literal["whole", "answer_tag", "boxed", "answer_line"] = Field(
        "answer_tag", description="How the answer is found."
    )
    partial: bool = Field(False, description="Pay the scorer's partial credit too, above what it pays for junk.")


@dataclass(frozen=True, kw_only=True)
class GymSpec:
    """A row, ready to be judged by. `floor`: what the scorer pays for junk."""

    reference: GymReference
    scorer: Scorer
    floor: float


class GymVerifier(Verifier[GymReference, GymSpec]):
    """Entries of reasoning_gym, scored by its own scorers."""

    name = "reasoning_gym"
    version = 1
    reference_model = GymReference
    budget = Budget(prepare_cpu_s=30.0, verify_cpu_s=5.0)

    def prepare(self, reference: GymReference) -> GymSpec:
        """Find the scorer and try it on gold and junk. Raises `InvalidReference`."""
        if not isinstance(reference.entry.get("metadata"), dict):
            raise InvalidReference("an entry has metadata", field="entry.metadata")
        scorer, gold = _scorer(reference.dataset), reference.entry.get("answer")
        if not isinstance(gold, str) or _score(scorer, gold, reference.entry) != 1:
            raise InvalidReference("the dataset's scorer does not accept the entry's own answer", field="entry.answer")
        floor = max(_score(scorer, junk, reference.entry) for junk in _JUNK if junk != gold)
        if floor >= 1:
            raise InvalidReference("the dataset's scorer accepts junk", field="dataset")
        return GymSpec(reference=reference, scorer=scorer, floor=floor)

    def verify(self, spec: GymSpec, candidate: Candidate) -> Verdict:
        """Extract the answer, have it scored."""
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
    """The scorer of a dataset. Raises `InvalidReference`, and ImportError without the library."""
    from reasoning_gym.factory import DATASETS

    if dataset not in DATASETS:
        raise InvalidReference("no such dataset", field="dataset")
    made, config = DATASETS[dataset]
    if _evaluates_text(made):
        raise InvalidReference("the dataset's scorer evaluates text", field="dataset")
    try:
        scorer: Scorer = made(config=config()).score_answer
    except Exception as failure:
        raise InvalidReference(f"the dataset cannot be made: {type(failure).__name__}", field="dataset") from failure
    return scorer


def _evaluates_text(made: type) -> bool:
    """Whether the module of a scorer calls anything that evaluates text."""
    module = sys.modules[made.score_answer.__module__]  # type: ignore[attr-defined]
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _EVALUATES and not _is_pattern(node):
                return True
    return False


def _is_pattern(node: ast.Call) -> bool:
    """`re.compile`."""
    return isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "re"


def _score(scorer: Scorer, answer: str, entry: Mapping[str, Any]) -> float:
    """The scorer's word on an answer; 0 where it raises or says no finite number."""
    try:
        score = float(scorer(answer, entry))
    except Exception:  # a faulty scorer on odd text: many raise
        return 0.0
    return score if math.isfinite(score) else 0.0
