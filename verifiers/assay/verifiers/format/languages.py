"""Language identification: by script where the script decides, else by lingua's n-gram models.

lingua (https://github.com/pemistahl/lingua-py, Apache-2.0) brings its models in its wheel and is deterministic. Only
the languages of the text's own script are candidates. The result is neutral (a pass) where there is too little
evidence: under `FEW_LETTERS` letters, or a best candidate below `min_confidence` with the language close to it. Code,
mathematics, links and tags are removed first, but prose inside a fence, backticks or dollar signs is kept. Closely
related languages that single sentences do not tell apart count as one (`ALIKE`); a language that lingua does not know
is decided by its script alone. CPU time is bounded: of a long text, evenly spread pieces are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from lingua import Language, LanguageDetector, LanguageDetectorBuilder

from assay.verifiers.format.plain import visible
from assay.verifiers.format.scripts import SCRIPTS, base_code, count_scripts
from assay.verifiers.format.words import bare_word

FEW_LETTERS = 20
MIN_CONFIDENCE = 0.3
"""Confidence of the best candidate under which a text is neutral. Measured by `bench.language`."""
CLOSE = 0.25
"""Below `min_confidence`, a language passes if its confidence is at least this share of the best one."""
ALIKE: tuple[frozenset[str], ...] = (
    frozenset({"hr", "bs", "sr"}),
    frozenset({"id", "ms"}),
    frozenset({"no", "nb", "nn"}),
)
"""Languages that count as one another: written alike (Serbian in Latin script) or codes of one language."""
PIECES, PIECE_CHARS = 8, 1000
"""Of a text longer than the product, so many pieces of so many characters are read."""
_MOST = 0.5
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
    """Return whether a language can be identified. Loads its models, so that rows pay for it, not completions."""
    code = base_code(code)
    for script in SCRIPTS.get(code, ()):
        _detector(script)
    return code in SCRIPTS


def is_in(text: str, code: str, *, min_confidence: float = MIN_CONFIDENCE) -> bool:
    """Return whether a text is in a language: True if there is too little evidence to tell, False without a letter."""
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
    return _is_likely(text, code, max(SCRIPTS[code], key=lambda script: counts[script]), min_confidence)


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


def _is_likely(text: str, code: str, script: str, min_confidence: float) -> bool:
    """Return whether the models name the language, or one like it, or are not confident."""
    detector = _detector(script)
    group = next((group for group in ALIKE if code in group), frozenset({code}))
    if detector is None or not group & _modelled(script):
        return True
    values = detector.compute_language_confidence_values(_sample(text))
    claimed = max(one.value for one in values if _code(one.language) in group)
    best = values[0].value
    return claimed == best or (best < min_confidence and claimed >= CLOSE * best)


def _sample(text: str) -> str:
    """Return a text of bounded length: the whole, or pieces spread evenly over it."""
    if len(text) <= PIECES * PIECE_CHARS:
        return text
    step = (len(text) - PIECE_CHARS) // (PIECES - 1)
    return " ".join(text[start : start + PIECE_CHARS] for start in range(0, step * PIECES, step))


@cache
def _detector(script: str) -> LanguageDetector | None:
    """Return the detector among the languages of a script, or None where one language alone is written in it."""
    candidates = [language for language in Language.all() if script in SCRIPTS.get(_code(language), ())]
    return LanguageDetectorBuilder.from_languages(*candidates).build() if len(candidates) > 1 else None


@cache
def _modelled(script: str) -> frozenset[str]:
    return frozenset(code for code in map(_code, Language.all()) if script in SCRIPTS.get(code, ()))


def _code(language: Language) -> str:
    return language.iso_code_639_1.name.lower()
