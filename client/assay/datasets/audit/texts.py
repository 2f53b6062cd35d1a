"""Findings from the rows' texts alone: duplicates, contradictions, contamination, hints of special checkers.

Prompts are equal if they differ only in case, spacing, and punctuation at the ends of words; rows of different
verifiers are not compared. Contamination is measured in words without punctuation: a run of 13 shared with a test set
(Brown et al. 2020, appendix C), or for shorter prompts all words. Memory: 8 bytes per word of the test sets, and about
100 bytes per row.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.datasets.audit.degenerate import prompt_text
from assay.datasets.audit.findings import Finding
from assay.datasets.audit.golds import verifier_of

Row = Mapping[str, Any]
NGRAM = 13
_WORD = re.compile(r"\w+")
_SEVERAL = re.compile(
    r"(print|output|return|find|choose) any\b|any (of them|one of them|valid|such|correct|possible|order\b)"
    r"|(multiple|several|more than one) (possible |valid |correct )?(answers?|solutions?|ways?|outputs?)"
    r"|if there (are|is) (multiple|several|more than one)|in any order|any order is",
    re.I,
)
_TOLERANCE = re.compile(
    r"(absolute|relative)( or (absolute|relative))? (error|difference)|10\s*\^?\s*\{?\s*[-−–]\s*\d|1e-\d|precision of",
    re.I,
)
_MARKS = ".,;:!?\"'“”‘’*_`"
_DECIMAL = re.compile(r"[-+]?\d+\.\d+")


def words(prompt: Any) -> list[str]:
    """Return the words of a prompt, in lower case."""
    return _WORD.findall(prompt_text(prompt).lower())


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


@dataclass(frozen=True)
class _Seen:
    name: str
    line: int
    gold: bytes


class Prompts:
    """Prompts seen so far, with digests of their golds."""

    def __init__(self) -> None:
        self._seen: dict[bytes, _Seen] = {}

    def check(self, row: Row, name: str, line: int) -> Iterator[Finding]:
        """Yield a finding if the prompt was seen before."""
        said = [bare for word in prompt_text(row.get("prompt")).casefold().split() if (bare := word.strip(_MARKS))]
        if not said:
            return
        gold = _digest(json.dumps(row.get("reference"), sort_keys=True))
        reference = row.get("reference")
        tools = reference.get("tools") if isinstance(reference, Mapping) else None
        key = _digest(json.dumps([verifier_of(row), said, tools], sort_keys=True))
        before = self._seen.setdefault(key, _Seen(name, line, gold))
        if before.line != line:
            kind = "duplicate" if before.gold == gold else "contradictory"
            yield Finding(name, line, kind, f"the same prompt as line {before.line}")
            if kind == "contradictory":
                yield Finding(before.name, before.line, kind, f"the same prompt as line {line}")


class TestSet:
    """The prompts of test sets that must not be trained on."""

    __test__ = False

    def __init__(self, prompts: Iterable[Any]) -> None:
        self._runs: set[bytes] = set()
        self._whole: set[bytes] = set()
        for prompt in prompts:
            said = words(prompt)
            if said:
                self._whole.add(_digest(" ".join(said)))
            self._runs.update(_runs(said))

    def check(self, row: Row, name: str, line: int) -> Iterator[Finding]:
        """Yield a finding if the row's prompt is in the test set."""
        said = words(row.get("prompt"))
        if said and _digest(" ".join(said)) in self._whole:
            yield Finding(name, line, "contaminated", "the whole prompt occurs in a test set")
            return
        total = shared = 0
        for run in _runs(said):
            total += 1
            shared += run in self._runs
        if shared:
            yield Finding(name, line, "contaminated", f"{shared} of {total} runs of {NGRAM} words occur in a test set")


def _runs(said: list[str]) -> Iterator[bytes]:
    for start in range(len(said) - NGRAM + 1):
        yield _digest(" ".join(said[start : start + NGRAM]))


def hints(row: Row, name: str, line: int) -> Iterator[Finding]:
    """Yield findings for programs whose problem statement allows outputs that the comparison rejects."""
    reference = row.get("reference")
    if verifier_of(row) != "code" or not isinstance(reference, Mapping) or reference.get("mode") != "stdio":
        return
    if reference.get("checker") or reference.get("interactor"):
        return
    prompt = prompt_text(row.get("prompt"))
    if found := _SEVERAL.search(prompt):
        yield Finding(name, line, "needs_checker", f"the problem says “{found.group()[:40]}”")
    textual = str(reference.get("compare") or "lines").partition(":")[0] != "float"
    if textual and (found := _TOLERANCE.search(prompt)) and _has_decimals(reference):
        yield Finding(name, line, "needs_tolerance", f"the problem says “{found.group()[:40]}”")


def _has_decimals(reference: Row) -> bool:
    tests = reference.get("tests")
    return (
        any(_DECIMAL.search(str(t.get("expected_stdout"))) for t in tests if isinstance(t, Mapping))
        if isinstance(tests, list)
        else False
    )


def tool_golds(row: Row, name: str, line: int, calls: list[tuple[str, Any]] | None) -> Iterator[Finding]:
    """Yield findings for expected calls of tools that the row does not offer."""
    reference = row.get("reference")
    tools = reference.get("tools") if isinstance(reference, Mapping) else None
    if not calls or not isinstance(tools, list):
        return
    offered = {str(t.get("name") or (t.get("function") or {}).get("name")) for t in tools if isinstance(t, Mapping)}
    for called in sorted({call for call, _ in calls} - offered):
        yield Finding(name, line, "gold_unknown_tool", f"the tool {called[:60]}")
