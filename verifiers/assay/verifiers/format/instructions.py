"""Constraints on the sequence of words, sentences and lines: the IFBench kinds that need no downloaded data.

Each check returns whether a text meets the constraint `rule`. Where IFBench's public checker and its instruction text
differ, the instruction counts (spans and trigrams are of words, not characters). Words are compared ignoring case and
punctuation at their ends. Not covered: kinds that need a part-of-speech tagger, syllables, names or place lists.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, TypeVar

from assay.verifiers.format.emoji import begins_with_emoji, ends_with_emoji
from assay.verifiers.format.nesting import bracket_depth, quote_depth
from assay.verifiers.format.plain import composed, folded, unaccented
from assay.verifiers.format.regions import Region
from assay.verifiers.format.relations import RELATIONS
from assay.verifiers.format.sentences import sentences, split_sentences
from assay.verifiers.format.stop_words import STOP_WORDS
from assay.verifiers.format.words import EDGES, bare_word, bare_words, count_words

T = TypeVar("T")
_NUMBER = re.compile(r"(?<![\w.])(?:\d++(?:[.,]\d++)*+|\.\d++)")
_TOKEN = re.compile(r"[^\W_]++")
_TYPES = {".": "statement", "?": "question", "？": "question", "!": "exclamation", "！": "exclamation"}
_CLOSERS = "\"'”’)]*_»」』"
_INTERROBANGS = ("?!", "!?", "‽", "⁉", "⁈")
_CONJUNCTIONS = frozenset(["and", "but", "for", "nor", "or", "so", "yet"])
_PRONOUN_WORDS = """
i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself
we us our ours ourselves they them their theirs themselves
"""
_PRONOUNS = frozenset(_PRONOUN_WORDS.split())
_CLUSTER = re.compile(r"[b-df-hj-np-tv-z]{2}")


def all_punctuation(rule: Any, text: Region) -> bool:
    """Each of `. , ! ? ; :` occurs, and the interrobang (`?!`)."""
    return text.chars.issuperset(".,!?;:") and any(mark in text.text for mark in _INTERROBANGS)


def alphabet_words(rule: Any, text: Region) -> bool:
    """Each word starts with the letter after that of the word before, z followed by a."""
    initials = [word[0] for word in text.bare_words]
    return (
        bool(initials)
        and all("a" <= one <= "z" for one in initials)
        and all((ord(after) - ord(before)) % 26 == 1 for before, after in pairwise(initials))
    )


def no_repeated_initial(rule: Any, text: Region) -> bool:
    """No two words in a row start with the same letter."""
    words = text.bare_words
    return bool(words) and all(before[0] != after[0] for before, after in pairwise(words))


def consonant_clusters(rule: Any, text: Region) -> bool:
    """Every word has two consecutive consonants of the Latin alphabet, with or without diacritics."""
    return bool(text.bare_words) and all(_CLUSTER.search(unaccented(word)) for word in text.bare_words)


def emoji_endings(rule: Any, text: Region) -> bool:
    """Every sentence and every line ends with an emoji, before or after its last punctuation."""
    seen = False
    for line in text.lines:
        for part, after in pairwise(chain(split_sentences(line), [""])):
            if any(map(str.isalnum, part)):
                seen = True
                if not (_ends_with_emoji(part) or begins_with_emoji(after.lstrip())):
                    return False
    return seen or ends_with_emoji(text.trimmed)


def _ends_with_emoji(sentence: str) -> bool:
    return ends_with_emoji(sentence.rstrip()) or ends_with_emoji(sentence.rstrip(EDGES + " \t\r"))


def last_first(rule: Any, text: Region) -> bool:
    """The last word of each sentence is the first of the next."""
    words = (_bare(sentence) for sentence in sentences(text.text))
    return _each_pair(words, lambda before, after: before[-1:] == after[:1])


def _each_pair(items: Iterable[T], holds: Callable[[T, T], bool]) -> bool:
    """Return whether there are at least two items and `holds` is true for each pair of neighbours. Stops at the
    first failure.
    """
    holding = False
    for before, after in pairwise(items):
        holding = holds(before, after)
        if not holding:
            break
    return holding


def paragraph_last_first(rule: Any, text: Region) -> bool:
    """Each paragraph, ended by a newline or a blank line, ends with the word that it starts with."""
    return _framed(text.paragraphs) or _framed(line for line in text.lines if line.strip())


def _framed(paragraphs: Iterable[str]) -> bool:
    words = [_bare(paragraph) for paragraph in paragraphs]
    return bool(words) and all(len(one) > 1 and one[0] == one[-1] for one in words)


def no_whitespace(rule: Any, text: Region) -> bool:
    """No white space inside the text."""
    return len(text.words) == 1


def one_word_per_line(rule: Any, text: Region) -> bool:
    """Every line holds one word."""
    return all(len(line.split()) == 1 for line in text.trimmed.split("\n"))


def prime_lengths(rule: Any, text: Region) -> bool:
    """The length of every word, as written, is a prime number."""
    return bool(text.written_words) and all(_is_prime(len(word)) for word in text.written_words)


def _is_prime(number: int) -> bool:
    return 1 < number < 10_000 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def stairs(rule: Any, text: Region) -> bool:
    """At least two lines, each indented more than the one before."""
    lines = [line for line in text.lines if line.strip()]
    indents = [len(line) - len(line.lstrip()) for line in lines]
    return len(lines) > 1 and all(before < after for before, after in pairwise(indents))


def sub_bullets(rule: Any, text: Region) -> bool:
    """Bullets with `*`, each with at least one indented `-` below it."""
    marks = [line.strip()[:2] for line in text.lines if line.strip()[:2] in ("* ", "- ")]
    ends = [*marks[1:], "* "]
    return "* " in marks and all(after == "- " for mark, after in zip(marks, ends, strict=True) if mark == "* ")


def title_case(rule: Any, text: Region) -> bool:
    """Every word that starts with a letter starts with a capital letter."""
    starts = [word.lstrip("\"'([{*_“‘")[:1] for word in text.words]
    return any(map(str.isalpha, starts)) and not any(map(str.islower, starts))


def alliteration_increment(rule: Any, text: Region) -> bool:
    """Each sentence has a longer run of words with the same initial than the sentence before."""
    runs = (_longest_run([word[0] for word in _bare(sentence)]) for sentence in sentences(text.text))
    return _each_pair(runs, operator.lt)


def _longest_run(initials: Sequence[str]) -> int:
    longest = run = 1
    for before, after in pairwise(initials):
        run = run + 1 if before == after else 1
        longest = max(longest, run)
    return longest


def _bare(text: str) -> list[str]:
    return [word.casefold() for word in bare_words(text)]


def _tally(count: Callable[[Region], int]) -> Callable[[Any, Region], bool]:
    return lambda rule, text: RELATIONS[rule.rel](count(text), rule.n)


def word_range(rule: Any, text: Region) -> bool:
    """Between `min` and `max` words."""
    return bool(rule.min <= len(text.words) <= rule.max)


def palindromes(rule: Any, text: Region) -> bool:
    """The number of palindromic words satisfies `rel n`."""
    found = sum(len(word) >= rule.min_length and word == word[::-1] for word in text.bare_words)
    return RELATIONS[rule.rel](found, rule.n)


def word_repeats(rule: Any, text: Region) -> bool:
    """No word occurs more than `max` times."""
    return bool(max(Counter(text.bare_words).values(), default=0) <= rule.max)


def word_at(rule: Any, text: Region) -> bool:
    """The n-th word is `word`."""
    words = text.bare_words
    if rule.sentence is not None:
        sentence = _nth(text.sentences, rule.sentence)
        words = _bare(sentence) if sentence else []
    return bool(_nth(words, rule.n) == (bare_word(folded(rule.word)) or rule.word))


def _nth(items: Sequence[str], place: int) -> str | None:
    index = place - 1 if place > 0 else len(items) + place
    return items[index] if 0 <= index < len(items) else None


def sentence_keyword(rule: Any, text: Region) -> bool:
    """The n-th sentence contains `word`."""
    sentence = _nth(text.sentences, rule.n)
    return sentence is not None and count_words(folded(sentence), folded(rule.word)) > 0


def sentence_increment(rule: Any, text: Region) -> bool:
    """Each sentence has exactly `by` more words than the one before."""
    lengths = (len(_bare(sentence)) for sentence in sentences(text.text))
    return _each_pair(lengths, lambda before, after: bool(after - before == rule.by))


def nested_brackets(rule: Any, text: Region) -> bool:
    """Brackets are nested `depth` deep, each closed by its own kind."""
    return bool(bracket_depth(text.text, enough=rule.depth) >= rule.depth)


def nested_quotes(rule: Any, text: Region) -> bool:
    """Double and single quotes alternate, nested `depth` deep."""
    return bool(quote_depth(text.text, enough=rule.depth) >= rule.depth)


def list_lines(rule: Any, text: Region) -> bool:
    """The number of lines that start with `marker` satisfies `rel n`."""
    return RELATIONS[rule.rel](sum(line.lstrip().startswith(rule.marker) for line in text.lines), rule.n)


def trigram_overlap(rule: Any, text: Region) -> bool:
    """The share of the text's word trigrams that also occur in the row's text satisfies the constraint."""
    own, other = _trigrams(text.bare_words), _trigrams(_bare(rule.text))
    return bool(own and abs(100 * len(own & other) / len(own) - rule.percent) <= rule.tolerance)


def _trigrams(words: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(words, words[1:], words[2:], strict=False))


def stop_word_ratio(rule: Any, text: Region) -> bool:
    """At least one word, and at most `max` percent of the words are English stop words."""
    words = text.bare_words
    stops = sum(word.replace("’", "'") in STOP_WORDS for word in words)
    return bool(words) and bool(100 * stops <= rule.max * len(words))


def sentence_types(rule: Any, text: Region) -> bool:
    """Statements, questions and exclamations are in the given ratio. A kind with share 0 is unconstrained beside two
    others.
    """
    ends = Counter(map(_type, sentences(text.text)))
    parts = {"statement": rule.statements, "question": rule.questions, "exclamation": rule.exclamations}
    asked = {kind: part for kind, part in parts.items() if part} if sum(map(bool, parts.values())) > 1 else parts
    total, share = sum(ends[kind] for kind in asked), sum(asked.values())
    return total > 0 and all(ends[kind] * share == part * total for kind, part in asked.items())


def _type(sentence: str) -> str:
    return _TYPES.get(sentence[-1:]) or _TYPES.get(sentence.rstrip(_CLOSERS)[-1:], "statement")


def reversed_text(rule: Any, text: Region) -> bool:
    """The text is the row's text reversed."""
    if rule.unit == "char":
        return bool(composed(text.trimmed) == composed(rule.text.strip())[::-1])
    return bool(text.folded.split() == folded(rule.text).split()[::-1])


CHECKS: Mapping[str, Callable[[Any, Region], bool]] = {
    "all_punctuation": all_punctuation,
    "alliteration_increment": alliteration_increment,
    "alphabet_words": alphabet_words,
    "conjunctions": _tally(lambda text: len(_CONJUNCTIONS & set(text.bare_words))),
    "consonant_clusters": consonant_clusters,
    "distinct_vowels": _tally(lambda text: len(set("aeiou") & set(unaccented(text.folded)))),
    "emoji_endings": emoji_endings,
    "last_first": last_first,
    "list_lines": list_lines,
    "nested_brackets": nested_brackets,
    "nested_quotes": nested_quotes,
    "no_repeated_initial": no_repeated_initial,
    "no_whitespace": no_whitespace,
    "number_count": _tally(lambda text: len(_NUMBER.findall(text.text))),
    "one_word_per_line": one_word_per_line,
    "palindromes": palindromes,
    "paragraph_last_first": paragraph_last_first,
    "prime_lengths": prime_lengths,
    "pronouns": _tally(lambda text: sum(word in _PRONOUNS for word in _TOKEN.findall(text.folded))),
    "reversed_text": reversed_text,
    "sentence_increment": sentence_increment,
    "sentence_keyword": sentence_keyword,
    "sentence_types": sentence_types,
    "stairs": stairs,
    "stop_word_ratio": stop_word_ratio,
    "sub_bullets": sub_bullets,
    "title_case": title_case,
    "trigram_overlap": trigram_overlap,
    "unique_words": _tally(lambda text: len(set(text.bare_words))),
    "word_at": word_at,
    "word_range": word_range,
    "word_repeats": word_repeats,
}
"""Check by kind."""
