"""Numbers that the prompt gives: context, not answers, where a statement holds another one."""

from __future__ import annotations

import re
from fractions import Fraction

from assay.verifiers.candidate import Candidate
from assay.verifiers.math.answer.vocabulary import NUMBER_WORDS

_NUMBER = re.compile(r"\d{1,15}(?:,\d{3}){0,5}(?:\.\d{1,15})?")
_WORD = re.compile(r"[a-z]+")
_LONGEST = 8_000
_NEGATION = re.compile(r"\b(?:not|cannot|never)\b|n't\b")
_QUESTION = re.compile(r"[^.!?]*\?")


class Given:
    """The numbers of a prompt, found when they are first asked for."""

    def __init__(self, prompt: str = "") -> None:
        self._prompt = prompt
        self._numbers: set[Fraction] | None = None

    def holds(self, text: str) -> bool:
        """Whether the prompt gives the number that `text` is."""
        match = _NUMBER.search(text)
        if match is None or not self._prompt:
            return False
        if self._numbers is None:
            self._numbers = _numbers(self._prompt[-_LONGEST:])
        return _value(match.group()) in self._numbers

    def asks_negated(self, verb: str) -> bool:
        """Whether a question of the prompt negates `verb`: `How many eggs won't he be able to place?`"""
        if not self._prompt or len(verb) < 3:
            return False
        prompt = self._prompt[-_LONGEST:].replace("’", "'").lower()
        questions = [question for question in _QUESTION.findall(prompt) if _NEGATION.search(question)]
        return any(verb in _WORD.findall(question) for question in questions)


def given(candidate: Candidate) -> Given:
    """What the prompt's last user message gives."""
    prompt = candidate.prompt
    if prompt is None or isinstance(prompt, str):
        return Given(prompt or "")
    users = [message.content for message in prompt if message.role == "user" and message.content]
    return Given(users[-1] if users else "")


def _numbers(prompt: str) -> set[Fraction]:
    digits = {_value(found) for found in _NUMBER.findall(prompt)}
    return digits | {Fraction(NUMBER_WORDS[word]) for word in _WORD.findall(prompt.lower()) if word in NUMBER_WORDS}


def _value(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))
