"""Constraints on words, sentences and copied text: further kinds of IFBench and of open-instruct's IF-RLVR rows.

Where a public checker and its instruction text differ, the instruction counts: words are whole words, "exactly" is
exact, a phrase is never a pattern. Syllables are counted by syllapy, the dictionary that IFBench uses
(https://github.com/mholtzscher/syllapy, MIT).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import syllapy

from assay.verifiers.format.plain import folded, unaccented, visible
from assay.verifiers.format.regions import Region
from assay.verifiers.format.relations import RELATIONS
from assay.verifiers.format.scripts import SCRIPTS, base_code, script_of
from assay.verifiers.format.sentences import sentences
from assay.verifiers.format.words import EDGES, bare_words, count_words

_HYPHEN = re.compile(r"(?<=[.!?])-(?=\S)")
_INTEGER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})++(?!,?\d)|\d++)(?!\w|\.\d)")


def alternating_syllables(rule: Any, text: Region) -> bool:
    """Words with an odd and an even number of syllables alternate."""
    counts = [syllapy.count(re.sub(r"[^a-z]", "", unaccented(word))) for word in text.bare_words]
    return len(counts) > 1 and 0 not in counts and all((one + other) % 2 for one, other in pairwise(counts))


def no_consecutive_initials(rule: Any, text: Region) -> bool:
    """No two words in a row start with consecutive letters of the alphabet."""
    initials = [ord(word[0]) for word in text.bare_words]
    return bool(initials) and all(after - before != 1 for before, after in pairwise(initials))


def same_first_last_word(rule: Any, text: Region) -> bool:
    """At least two words, of which the first and the last are the same."""
    return len(text.bare_words) > 1 and text.bare_words[0] == text.bare_words[-1]


def equal_sentence_lengths(rule: Any, text: Region) -> bool:
    """At least two sentences, all with the same number of characters."""
    lengths = {len(sentence.strip()) for sentence in text.sentences}
    return len(text.sentences) > 1 and len(lengths) == 1


def hyphenated_sentences(rule: Any, text: Region) -> bool:
    """At least two sentences, with a hyphen and no space between them."""
    parts = _HYPHEN.split(text.trimmed)
    return len(parts) > 1 and all(part == part.strip() and len(list(sentences(part))) == 1 for part in parts)


def quotes_explained(rule: Any, text: Region) -> bool:
    """At least one quoted phrase, and words outside quotes after each."""
    parts = text.trimmed.replace("“", '"').replace("”", '"').split('"')
    outside = parts[2::2]
    return len(parts) > 2 and len(parts) % 2 == 1 and all(bare_words(part) for part in outside)


def distinct_keywords(rule: Any, text: Region) -> bool:
    """The number of different words of a list that occur satisfies `rel n`."""
    shown = visible(text.text)
    return RELATIONS[rule.rel](sum(count_words(shown, word) > 0 for word in set(rule.words)), rule.n)


def copies(rule: Any, text: Region) -> bool:
    """The reply is a text n times, with a separator between."""
    parts = [folded(part).split() for part in text.trimmed.split(rule.separator)] if rule.n > 1 else [_folded(text)]
    return len(parts) == rule.n and all(part == folded(rule.text).split() for part in parts)


def _folded(text: Region) -> list[str]:
    return text.folded.split()


def changed_first_word(rule: Any, text: Region) -> bool:
    """The reply is a text with another first word."""
    made, given = _folded(text), folded(rule.text).split()
    return bool(made) and made[1:] == given[1:] and _bare([made[0]]) != _bare([given[0]])


def _bare(words: Sequence[str]) -> list[str]:
    return [word.strip(EDGES) for word in words]


def phrase_variations(rule: Any, text: Region) -> bool:
    """A phrase occurs exactly n times, each time with one inner word replaced."""
    phrase, words = _bare(folded(rule.phrase).split()), _bare(_folded(text))
    size, at, found = len(phrase), 0, 0
    while at + size <= len(words):
        window = words[at : at + size]
        differing = [place for place, pair in enumerate(zip(window, phrase, strict=True)) if pair[0] != pair[1]]
        if len(differing) == 1 and 0 < differing[0] < size - 1:
            found, at = found + 1, at + size
        else:
            at += 1
    return bool(found == rule.n)


def wrapped_words(rule: Any, text: Region) -> bool:
    """All words are in groups of `size` between two marks."""
    tokens = visible(text.trimmed).split()
    groups = [tokens[at : at + rule.size] for at in range(0, len(tokens), rule.size)]
    return bool(groups) and all(_wrapped(group, rule) for group in groups)


def _wrapped(group: Sequence[str], rule: Any) -> bool:
    joined = " ".join(group).rstrip(".,;:!?")
    inner = joined.removeprefix(rule.open).removesuffix(rule.close)
    whole = len(inner) == len(joined) - len(rule.open) - len(rule.close)
    return whole and len(inner.split()) == rule.size and all(map(bare_words, inner.split())) and rule.open not in inner


def sentence_edges(rule: Any, text: Region) -> bool:
    """Every sentence starts with one word, ends with another."""
    for sentence in text.sentences:
        words = [word.casefold() for word in bare_words(sentence)]
        if rule.first is not None and words[:1] != _bare([folded(rule.first)]):
            return False
        if rule.last is not None and words[-1:] != _bare([folded(rule.last)]):
            return False
    return bool(text.sentences)


def sentence_initials(rule: Any, text: Region) -> bool:
    """As many sentences as letters, each starting with its letter."""
    initials = [bare_words(sentence)[0][0].casefold() for sentence in text.sentences]
    return initials == [str(letter).casefold() for letter in rule.letters]


def nth_words(rule: Any, text: Region) -> bool:
    """Every n-th word has a letter of the language's script."""
    chosen = [word for word in visible(text.text).split()[rule.n - 1 :: rule.n] if not word.strip(EDGES).isdigit()]
    scripts = SCRIPTS[base_code(rule.code)]
    named = [word for word in chosen if bare_words(word)]
    return bool(named) and all(any(script_of(char) in scripts for char in word) for word in named)


def number_sequence(rule: Any, text: Region) -> bool:
    """The numbers in the text are exactly the given ones."""
    return bool([int(number.replace(",", "")[:20]) for number in _INTEGER.findall(text.text)] == rule.numbers)


def _letters(text: Region) -> int:
    return sum(map(str.isalpha, text.text))


def _lowercase(text: Region) -> int:
    return sum(map(str.islower, text.written_words))


def _lines(text: Region) -> int:
    return sum(bool(line.strip()) for line in visible(text.text).split("\n"))


def _tally(count: Callable[[Region], int]) -> Callable[[Any, Region], bool]:
    return lambda rule, text: RELATIONS[rule.rel](count(text), rule.n)


CHECKS: Mapping[str, Callable[[Any, Region], bool]] = {
    "alternating_syllables": alternating_syllables,
    "changed_first_word": changed_first_word,
    "copies": copies,
    "distinct_keywords": distinct_keywords,
    "equal_sentence_lengths": equal_sentence_lengths,
    "hyphenated_sentences": hyphenated_sentences,
    "letter_count": _tally(_letters),
    "line_count": _tally(_lines),
    "lowercase_words": _tally(_lowercase),
    "no_consecutive_initials": no_consecutive_initials,
    "nth_words": nth_words,
    "number_sequence": number_sequence,
    "phrase_variations": phrase_variations,
    "quotes_explained": quotes_explained,
    "same_first_last_word": same_first_last_word,
    "sentence_edges": sentence_edges,
    "sentence_initials": sentence_initials,
    "wrapped_words": wrapped_words,
}
"""Check by kind."""
