"""The kinds of findings, with severity and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """ERROR: do not train on the row. WARNING: inspect it. INFO: for information."""

    INFO = 0
    WARNING = 1
    ERROR = 2


KINDS: dict[str, tuple[Severity, str]] = {
    "refused": (Severity.ERROR, "the verifier refuses the row: its reference checks nothing or does not parse"),
    "gold_rejected": (Severity.ERROR, "the row's own gold is not accepted: correct answers will get reward 0"),
    "gold_breaks_schema": (Severity.ERROR, "the expected arguments are not valid by the tool's own schema"),
    "gold_unknown_tool": (Severity.ERROR, "the expected call names a tool that the row does not offer"),
    "mutant_accepted": (Severity.ERROR, "a wrong answer made from the gold is accepted"),
    "gamed": (Severity.ERROR, "a completion that solves nothing is rewarded"),
    "flaky": (Severity.ERROR, "the gold gets different verdicts on the same program"),
    "contradictory": (Severity.ERROR, "the same prompt occurs elsewhere with another gold"),
    "contaminated": (Severity.ERROR, "the prompt occurs, nearly or completely, in a test set"),
    "needs_low_trust": (Severity.ERROR, "the gold passes only with `trust: low`: tests and program share a process"),
    "needs_checker": (Severity.ERROR, "several outputs are correct, and the row has no checker"),
    "needs_tolerance": (Severity.ERROR, "the problem allows a numeric error, and the row compares text"),
    "duplicate": (Severity.ERROR, "the same prompt and gold occur elsewhere"),
    "unsatisfiable": (Severity.ERROR, "no answer can meet the reference: every completion will get reward 0"),
    "equal_options": (Severity.ERROR, "two options are the same text: an answer by text is ambiguous"),
    "loose_tolerance": (Severity.WARNING, "the tolerance accepts answers that are far from the gold"),
    "answer_in_prompt": (Severity.WARNING, "the prompt says the gold"),
    "unchecked_arguments": (Severity.WARNING, "an expected call accepts any arguments"),
    "weak_asserts": (Severity.WARNING, "a function that computes nothing passes the assertions"),
    "near_limit": (Severity.WARNING, "the gold uses more than half of a limit: slower machines will fail it"),
    "mutant_survives": (Severity.INFO, "a changed program still passes: weak tests, or a change without effect"),
    "weak_constraint": (Severity.INFO, "a text without an answer meets the constraints"),
    "second_opinion": (Severity.INFO, "math-verify scores the gold, or a wrong answer made from it, differently"),
    "no_gold": (Severity.INFO, "the row has no gold to try"),
    "no_verdict": (Severity.WARNING, "the engine gave no verdict because of its own fault: the row was not audited"),
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One finding about one row. `detail` quotes at most a few words of the row."""

    row: str
    line: int
    kind: str
    detail: str
    probe: str = ""
    source: str = ""
    """The file, if there are several."""

    @property
    def severity(self) -> Severity:
        """Severity of its kind."""
        return KINDS[self.kind][0]
