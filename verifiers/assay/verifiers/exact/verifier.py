"""`exact`: a whole answer, extracted by a named rule and compared in a named mode (contract, appendix).

No containment, no sequence of fallback rules, no float arithmetic: the extracted text and the gold are parsed the same
way and are either equal or not. Linear in the completion.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal

from assay.contract.references.exact import ExactReference
from assay.verifiers.base import Budget, Verdict, Verifier, binary
from assay.verifiers.candidate import Answer, Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.exact.extractors import EXTRACTORS, MARKS, Extractor, by_pattern, in_tag
from assay.verifiers.exact.modes import COMMON, OPTIONS, Reader, as_text, reader_of
from assay.verifiers.exact.numbers import Interval, Number, to_text
from assay.verifiers.extract import Found
from assay.verifiers.matchers.patterns import group_matches

EXTRACTED = 1_000
"""Maximum number of code points of the extracted text in a result."""

MULTIPLE = ("multiple_answers",)
SPAM = 64
"""More answers than this are flagged as spam without being parsed."""


@dataclass(frozen=True)
class ExactSpec:
    """A prepared row."""

    reader: Reader
    golds: tuple[Hashable, ...]
    extractor: Extractor
    multiple: Literal["last", "first", "reject"]
    keep_thinking: bool
    reference: ExactReference


class ExactVerifier(Verifier[ExactReference, ExactSpec]):
    """Compare whole answers: strings, numbers, choices, sets, lists, quantities."""

    name = "exact"
    version = 1
    reference_model = ExactReference
    budget = Budget(prepare_cpu_s=2.0, verify_cpu_s=5.0)

    def prepare(self, reference: ExactReference) -> ExactSpec:
        """Parse the golds and look up the rules. Raises `InvalidReference` with the field."""
        _check_options(reference)
        reader = reader_of(reference)
        golds = [_gold(reader, reference, reference.gold, "gold")]
        golds += [_gold(reader, reference, alias, "aliases") for alias in reference.aliases or ()]
        return ExactSpec(
            reader=reader,
            golds=tuple(golds),
            extractor=_extractor(reference),
            multiple=reference.multiple,
            keep_thinking=reference.think == "keep",
            reference=reference,
        )

    def verify(self, spec: ExactSpec, candidate: Candidate) -> Verdict:
        """Extract, parse, compare."""
        answer = _answer(spec, candidate)
        if answer is None:
            return _verdict(spec, candidate, "no_answer")
        found, flags = _choose(spec, answer.text)
        if flags and spec.multiple == "reject":
            return _verdict(spec, candidate, "hedged", found, answer, flags=flags)
        if found is None or not found.text:
            return _verdict(spec, candidate, "no_answer")
        value = spec.reader.read(found.text)
        if value is None:
            return _verdict(spec, candidate, "unparsed", found, answer, flags=flags)
        equal = any(spec.reader.equal(gold, value) for gold in spec.golds)
        return _verdict(spec, candidate, "equal" if equal else "unequal", found, answer, value=value, flags=flags)


def _extractor(reference: ExactReference) -> Extractor:
    """Return the extractor of a row. Raises `InvalidReference`."""
    for name in ("pattern", "tag"):
        if (getattr(reference, name) is not None) != (reference.extract == name):
            raise InvalidReference(f"required with `extract: {name}`, and only allowed there", field=name)
    if reference.pattern is not None:
        return by_pattern(group_matches(reference.pattern, "pattern"))
    if reference.tag is not None:
        return in_tag(reference.tag)
    return EXTRACTORS[reference.extract]


def _check_options(reference: ExactReference) -> None:
    stray = reference.model_fields_set - COMMON - OPTIONS[reference.mode]
    if stray:
        field = min(stray)
        raise InvalidReference(f"does not belong to mode {reference.mode}", field=field)
    if reference.extract == "choice" and reference.mode != "choice":
        raise InvalidReference("`choice` is only for mode choice", field="extract")
    if reference.tol is not None and reference.mode in ("set", "list") and reference.item != "number":
        raise InvalidReference("requires `item: number`", field="tol")


def _gold(reader: Reader, reference: ExactReference, gold: Any, field: str) -> Hashable:
    """Return the value of one gold. Raises `InvalidReference` naming `field`."""
    try:
        if reference.gold_extract is not None:
            found = EXTRACTORS[reference.gold_extract].last(as_text(gold))
            if found is None or not found.text:
                raise InvalidReference("`gold_extract` finds nothing in it", field=field)
            gold = found.text
        return reader.gold(gold)
    except InvalidReference as error:
        raise InvalidReference(error.message, field=field if error.field == "gold" else error.field) from None


def _answer(spec: ExactSpec, candidate: Candidate) -> Answer | None:
    if spec.keep_thinking:
        return Answer(candidate.text, 0, candidate.message_index)
    return candidate.answer


def _choose(spec: ExactSpec, text: str) -> tuple[Found | None, tuple[str, ...]]:
    """Return the answer that counts, and flags if there are several different ones."""
    if spec.multiple == "reject":
        found = spec.extractor.all(text)
        last = spec.extractor.last(text)
        return last, MULTIPLE if found and (last is None or _differ(spec, found)) else ()
    answer = spec.extractor.last(text) if spec.multiple == "last" else next(iter(spec.extractor.all(text)), None)
    mark = f"</{spec.reference.tag}>" if spec.reference.tag else MARKS.get(spec.reference.extract)
    count = text.count(mark) if mark else 0
    if count > SPAM:
        return answer, ("answer_spam",)
    return answer, MULTIPLE if count > 1 and _differ(spec, spec.extractor.all(text)) else ()


def _differ(spec: ExactSpec, found: list[Found]) -> bool:
    """Return whether two answers differ in value, or in text if they do not parse. Each text is parsed once."""
    contents = set()
    for text in dict.fromkeys(answer.text for answer in found):
        value = spec.reader.read(text)
        contents.add(("text", text) if value is None else ("value", value))
        if len(contents) > 1:
            return True
    return False


def _verdict(
    spec: ExactSpec,
    candidate: Candidate,
    reason: str,
    found: Found | None = None,
    answer: Answer | None = None,
    *,
    value: Hashable = None,
    flags: tuple[str, ...] = (),
) -> Verdict:
    fields: dict[str, Any] = {"flags": flags}
    if found is not None and answer is not None:
        fields["extracted"] = found.text[:EXTRACTED]
        fields["span"] = (answer.offset + found.start, answer.offset + found.end)
        fields["message"] = answer.message
    if candidate.explain:
        fields["explanation"] = _explanation(spec, reason, value)
    return binary(reason == "equal", reason, **fields)


_WHY = {
    "equal": "the answer equals the gold",
    "unequal": "the answer differs from every gold",
    "no_answer": "the extraction finds no complete, non-empty answer",
    "unparsed": "the extracted text is not one whole value of this mode",
    "hedged": "several different answers, which the row rejects",
}


def _explanation(spec: ExactSpec, reason: str, value: Hashable) -> dict[str, Any]:
    reference = spec.reference
    compared = f"mode {reference.mode}"
    if reference.normalise:
        compared += f", normalised: {' '.join(reference.normalise)}"
    if reference.tol:
        compared += f", tolerance: abs {reference.tol.abs:g}, rel {reference.tol.rel:g}"
    return {
        "rule": f"{reference.extract}, {reference.multiple} of several, thinking: {reference.think}",
        "compared": compared,
        "read as": None if value is None else _shown(value),
        "golds": [_shown(gold) for gold in spec.golds[:10]],
        "why": _WHY[reason],
    }


def _shown(value: Hashable) -> str:
    """Return a value in readable form."""
    if isinstance(value, Interval):
        return f"{to_text(value.low)} … {to_text(value.high)}"
    if isinstance(value, Number):
        return to_text(value)[:EXTRACTED]
    if isinstance(value, tuple):
        return " ".join(map(_shown, value[:20]))[:EXTRACTED]
    return " ".join(sorted(value)) if isinstance(value, frozenset) else str(value)[:EXTRACTED]
