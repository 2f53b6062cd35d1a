"""Custom verifiers: a subclass of `Verifier`, or a function decorated with `@verifier`.

    from assay.verifiers import verifier

    @verifier(version=1)
    def mentions(completion: str, reference: dict) -> float:
        return float(reference["word"] in completion)

Plugins are loaded only if the settings name them, only in lanes, and cannot take a built-in's name. The function gets
the answer text (without thinking) and the reference. An exception counts as the verifier's fault (no verdict), unless
only this completion raises it (then the reward is 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ConfigDict

from assay.contract.base import Reference
from assay.verifiers.base import Verdict, Verifier
from assay.verifiers.candidate import Candidate

Rule = Callable[[str, Mapping[str, Any]], float]


class OpenReference(Reference):
    """A reference whose fields only the plugin knows."""

    model_config = ConfigDict(extra="allow")


class FunctionVerifier(Verifier[OpenReference, Mapping[str, Any]]):
    """A function `(completion, reference) -> number` as a verifier. A score in [0, 1] is also its `score`."""

    reference_model = OpenReference
    rule: Callable[..., float]

    def prepare(self, reference: OpenReference) -> Mapping[str, Any]:
        """Return the reference as a plain mapping."""
        return dict(reference.model_extra or {})

    def verify(self, spec: Mapping[str, Any], candidate: Candidate) -> Verdict:
        """Call the function on the answer text. Raises ValueError if it returns no finite number."""
        answer = candidate.answer
        if answer is None:
            return Verdict(reward=0.0, score=0.0, reason="no_answer")
        reward = float(type(self).rule(answer.text, spec))
        if not math.isfinite(reward):
            raise ValueError(f"verifier {self.name} returned {reward}")
        score = reward if 0 <= reward <= 1 else None
        return Verdict(reward=reward, score=score, reason="equal" if score == 1 else "unequal")


def verifier(*, version: int, name: str | None = None) -> Callable[[Rule], type[FunctionVerifier]]:
    """Make a verifier from a function. Its name is the function's unless `name` is given."""

    def wrap(rule: Rule) -> type[FunctionVerifier]:
        fields = {
            "name": name or rule.__name__,
            "version": version,
            "rule": staticmethod(rule),
            "__doc__": rule.__doc__,
            "__module__": rule.__module__,
        }
        return type(rule.__name__, (FunctionVerifier,), fields)

    return wrap
