"""Multiple choice: MMLU, MMLU-Pro, ARC, GPQA. The options are part of the prompt, labelled with letters."""

from __future__ import annotations

import string
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from assay.datasets.converters.base import Converter, Fields, Options, name_of, text
from assay.datasets.records import RecordFault

MOST_OPTIONS = len(string.ascii_uppercase)


def _row(question: str, options: Sequence[Any], right: int) -> dict[str, Any]:
    """Return prompt, verifier and reference of a question. Raises `RecordFault`."""
    choices = [str(option).strip() for option in options]
    if not 2 <= len(choices) <= MOST_OPTIONS or not all(choices) or not 0 <= right < len(choices):
        raise RecordFault(f"needs 2 to {MOST_OPTIONS} options, none of them blank, and the answer among them")
    listed = "\n".join(f"{letter}. {choice}" for letter, choice in zip(string.ascii_uppercase, choices, strict=False))
    return {
        "prompt": f"{question.rstrip()}\n\n{listed}\n\nAnswer with the letter of the right option.",
        "verifier": "exact",
        "reference": {
            "mode": "choice",
            "gold": string.ascii_uppercase[right],
            "choices": choices,
            "extract": "choice",
        },
    }


def _place(answer: Any, labels: Sequence[str]) -> int:
    """Return the index of an answer that is an index, a label, or an index as text. Raises `RecordFault`."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        return answer
    said = str(answer).strip()
    if said in labels:
        return list(labels).index(said)
    if said.isdecimal():
        return int(said)
    raise RecordFault("the answer is neither an index nor a label of an option")


def _options_of(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise RecordFault("the options are not a list")
    return value


def _mmlu(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    given = _options_of(fields["choices"])
    right = _place(fields["answer"], string.ascii_uppercase)
    yield {**name_of(fields.get("id")), **_row(text(fields, "question"), given, right)}


def _mmlu_pro(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    given = [option for option in _options_of(fields["options"]) if str(option).strip() not in ("", "N/A")]
    index = fields.get("answer_index")
    right = _place(index if index is not None else fields.get("answer"), string.ascii_uppercase)
    yield {**name_of(fields.get("question_id")), **_row(text(fields, "question"), given, right)}


def _arc(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    given = fields["choices"]
    if (
        not isinstance(given, dict)
        or not isinstance(given.get("text"), list)
        or not isinstance(given.get("label"), list)
    ):
        raise RecordFault("column choices is not {text, label}")
    labels = [str(label) for label in given["label"]]
    if str(fields["answerKey"]) not in labels:
        raise RecordFault("answerKey is not one of the labels")
    right = labels.index(str(fields["answerKey"]))
    yield {**name_of(fields.get("id")), **_row(text(fields, "question"), given["text"], right)}


_GPQA = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")


def _gpqa(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    question = text(fields, "Question")
    given = [text(fields, name) for name in _GPQA]
    shift = zlib.crc32(question.encode("utf-8", "surrogatepass")) % len(given)  # the right one is not always the first
    yield {
        **name_of(fields.get("Record ID")),
        **_row(question, given[-shift:] + given[:-shift] if shift else given, shift),
    }


MMLU = Converter(
    name="mmlu",
    summary="question, choices, answer as an index or letter (cais/mmlu)",
    columns=("question", "choices", "answer"),
    convert=_mmlu,
)
MMLU_PRO = Converter(
    name="mmlu_pro",
    summary="question, options, answer_index or answer (TIGER-Lab/MMLU-Pro)",
    columns=("question", "options", "answer"),
    convert=_mmlu_pro,
)
ARC = Converter(
    name="arc",
    summary="question, choices {text, label}, answerKey (allenai/ai2_arc)",
    columns=("question", "choices", "answerKey"),
    convert=_arc,
)
GPQA = Converter(
    name="gpqa",
    summary="Question, Correct Answer, Incorrect Answer 1 to 3 (Idavidrein/gpqa)",
    columns=("Question", *_GPQA),
    convert=_gpqa,
)
