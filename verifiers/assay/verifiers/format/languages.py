"""Language identification: by script where the script decides, else by function words.

Deterministic, and neutral where there is too little evidence: under `FEW_LETTERS` letters, or no function word of any
language of the script. A single function word that belongs only to another language is evidence. Code, mathematics,
links and tags are removed first, but prose inside a fence, backticks or dollar signs is kept. A text is in a language
if most of its letters are in its script and no other language of that script has clearly more function words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

import tomllib

from assay.verifiers.format.plain import visible
from assay.verifiers.format.scripts import SCRIPTS, base_code, count_scripts
from assay.verifiers.format.words import bare_word

FEW_LETTERS = 20
FEW_WORDS = 2
_MOST = 0.5
_CLOSE = 0.85
_KANA_SHARE = 0.05
_TAG = re.compile(r"</?([a-z_]+)>", re.IGNORECASE)
_TAG_NAMES = """
think thinking answer a b body br code div em h head hr html i img li ol p pre s small span strong sub sup table td th
tr u ul
"""
_TAGS = frozenset(_TAG_NAMES.split())
_PROSE_WORDS = 6
_PROSE_SHARE = 0.9
_PROSE_LENGTH = 3.0
_MARKS = ("`", "$", "://", "<")
_ASIDE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*+`|\$\$[^$]*+\$\$|\$[^$\n]*+\$|https?://\S++|</?[a-z_]+>", re.DOTALL | re.IGNORECASE
)


def known(code: str) -> bool:
    """Return whether a language can be identified. Also loads the function words, so that rows pay for it, not
    completions.
    """
    _speakers()
    return base_code(code) in SCRIPTS


def is_in(text: str, code: str) -> bool:
    """Return whether a text is in a language: True if it is too short to tell, False without a letter."""
    code = base_code(code)
    whole = text = visible(text)
    if any(mark in text for mark in _MARKS):
        text = _ASIDE.sub(_said_aside, text)
    counts = count_scripts(text)
    letters = sum(counts.values())
    if letters < FEW_LETTERS and text is not whole and _is_prose(asides := " ".join(_bodies(whole))):
        counts = count_scripts(text := f"{text} {asides}")
        letters = sum(counts.values())
    if letters < FEW_LETTERS:
        return letters > 0
    if sum(counts[script] for script in SCRIPTS[code]) <= _MOST * letters:
        return False
    if code in ("zh", "ja"):
        return (counts["kana"] > _KANA_SHARE * letters) == (code == "ja")
    return _told_by_words(text, code)


def _said_aside(aside: re.Match[str]) -> str:
    """Return the prose of a removed span: its lines that are sentences, and words in angle brackets that are not
    tags.
    """
    if tag := _TAG.fullmatch(aside[0]):
        return " " if tag[1].lower() in _TAGS else f" {tag[1]} "
    if aside[0][0] not in "`$":
        return " "
    return f" {' '.join(line for line in aside[0].strip('`$').splitlines() if _is_prose(line))} "


def _bodies(text: str) -> Iterator[str]:
    """Yield the contents of fences, backticks and dollar signs."""
    return (aside[0].strip("`$") for aside in _ASIDE.finditer(text) if aside[0][0] in "`$")


def _is_prose(line: str) -> bool:
    """Return whether a line is prose: enough words of letters only, of sufficient length."""
    if not line.isascii() and not any(char.isspace() for char in line.strip()):
        return sum(map(str.isalpha, line)) >= FEW_LETTERS
    words = [bare for word in line.split() if (bare := bare_word(word))]
    plain = [word for word in words if word.replace("'", "").replace("’", "").replace("-", "").isalpha()]
    return (
        len(plain) >= _PROSE_WORDS
        and len(plain) >= _PROSE_SHARE * len(words)
        and sum(map(len, plain)) >= _PROSE_LENGTH * len(plain)
    )


def script_share(text: str, code: str) -> float | None:
    """Return the share of letters in the language's script, ignoring tags, or None without a letter."""
    counts = count_scripts(re.sub(r"</?[a-z_]+>", " ", text))
    letters = sum(counts.values())
    if not letters:
        return None
    return sum(counts[script] for script in SCRIPTS[base_code(code)]) / letters


def _told_by_words(text: str, code: str) -> bool:
    family = next((group for group in _function_words().values() if code in group), None)
    if family is None:
        return True
    scores: Counter[str] = Counter()
    index = _speakers()
    for word, count in Counter(text.replace("’", "'").casefold().split()).items():
        for language, weight in index.get(bare_word(word), ()):
            scores[language] += weight * count  # type: ignore[assignment]
    best = max((scores[language] for language in family), default=0)
    if best < FEW_WORDS:
        return best < 1 or scores[code] > 0
    return scores[code] >= _CLOSE * best


@cache
def _speakers() -> Mapping[str, Sequence[tuple[str, float]]]:
    """Return word -> the languages whose function word it is, with its weight there."""
    index: dict[str, list[tuple[str, float]]] = {}
    for languages in _function_words().values():
        for code, words in languages.items():
            for word, weight in words.items():
                index.setdefault(word, []).append((code, weight))
    return index


@cache
def _function_words() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """Return script -> language -> word -> weight. A word shared by several languages has a lower weight."""
    table = tomllib.loads(files(__package__).joinpath("function_words.toml").read_text("utf-8"))
    weighed = {}
    for script, languages in table.items():
        lists = {code: set(words.split()) for code, words in languages.items()}
        shared = Counter(word for words in lists.values() for word in words)
        weighed[script] = {
            code: {word: 1.0 if shared[word] == 1 else 0.8 for word in sorted(words)} for code, words in lists.items()
        }
    return weighed
