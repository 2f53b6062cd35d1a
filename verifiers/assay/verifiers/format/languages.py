"""Which language a text is in: by its script where the script decides, else by function words.

Deterministic and neutral where there is too little to tell: under `FEW_LETTERS` letters, or under `FEW_WORDS`
function words of any language of the script. Code, mathematics, links and tags are left out first. A text is in a
language if its script holds most letters and no language of that script shows clearly more function words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import tomllib

from assay.verifiers.format.judged import bare_word
from assay.verifiers.format.scripts import SCRIPTS, base_code, count_scripts

FEW_LETTERS = 20
FEW_WORDS = 2
_MOST = 0.5
_CLOSE = 0.85
_KANA_SHARE = 0.05
_MARKS = ("`", "$", "://", "<")
_ASIDE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*+`|\$\$[^$]*+\$\$|\$[^$\n]*+\$|https?://\S++|</?[a-z_]+>", re.DOTALL | re.IGNORECASE
)


def known(code: str) -> bool:
    """Whether a language can be told. Loads the function words: a row is the time for that, a completion is not."""
    _speakers()
    return base_code(code) in SCRIPTS


def is_in(text: str, code: str) -> bool:
    """Whether a text is in a language; True where it is too short to tell, False without a letter."""
    code = base_code(code)
    if any(mark in text for mark in _MARKS):
        text = _ASIDE.sub(" ", text)
    counts = count_scripts(text)
    letters = sum(counts.values())
    if letters < FEW_LETTERS:
        return letters > 0
    if sum(counts[script] for script in SCRIPTS[code]) <= _MOST * letters:
        return False
    if code in ("zh", "ja"):
        return (counts["kana"] > _KANA_SHARE * letters) == (code == "ja")
    return _told_by_words(text, code)


def script_share(text: str, code: str) -> float | None:
    """The share of letters that are of the language's script, tags left out; None without a letter."""
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
    return best < FEW_WORDS or scores[code] >= _CLOSE * best


@cache
def _speakers() -> Mapping[str, Sequence[tuple[str, float]]]:
    """Word -> the languages whose function word it is, with its weight there."""
    index: dict[str, list[tuple[str, float]]] = {}
    for languages in _function_words().values():
        for code, words in languages.items():
            for word, weight in words.items():
                index.setdefault(word, []).append((code, weight))
    return index


@cache
def _function_words() -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    """Script, language, word -> weight: a word that several languages share tells less."""
    table = tomllib.loads(files(__package__).joinpath("function_words.toml").read_text("utf-8"))
    weighed = {}
    for script, languages in table.items():
        lists = {code: set(words.split()) for code, words in languages.items()}
        shared = Counter(word for words in lists.values() for word in words)
        weighed[script] = {
            code: {word: 1.0 if shared[word] == 1 else 0.8 for word in sorted(words)} for code, words in lists.items()
        }
    return weighed


@cache
def english_stop_words() -> frozenset[str]:
    """Frequent English function words."""
    return frozenset(_function_words()["latin"]["en"])
