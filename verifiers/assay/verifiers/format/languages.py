"""Which language a text is in: by its script where the script decides, else by function words.

Deterministic and neutral where there is too little to tell: under `FEW_LETTERS` letters, or under `FEW_WORDS`
function words of any language of the script. Code, mathematics, links and tags are left out first. A text is in a
language if its script holds most letters and no language of that script shows clearly more function words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
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
_ASIDE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*+`|\$\$[^$]*+\$\$|\$[^$\n]*+\$|https?://\S++|</?[a-z_]+>", re.DOTALL | re.IGNORECASE
)


def known(code: str) -> bool:
    """Whether a language can be told."""
    return base_code(code) in SCRIPTS


def is_in(text: str, code: str) -> bool:
    """Whether a text is in a language; True where it is too short to tell, False without a letter."""
    code = base_code(code)
    text = _ASIDE.sub(" ", text)
    letters = [char for char in text if char.isalpha()]
    if len(letters) < FEW_LETTERS:
        return bool(letters)
    counts = count_scripts(letters)
    if sum(counts[script] for script in SCRIPTS[code]) <= _MOST * len(letters):
        return False
    if code in ("zh", "ja"):
        return (counts["kana"] > _KANA_SHARE * len(letters)) == (code == "ja")
    return _told_by_words(text, code)


def script_share(text: str, code: str) -> float | None:
    """The share of letters that are of the language's script, tags left out; None without a letter."""
    letters = [char for char in re.sub(r"</?[a-z_]+>", " ", text) if char.isalpha()]
    if not letters:
        return None
    counts = count_scripts(letters)
    return sum(counts[script] for script in SCRIPTS[base_code(code)]) / len(letters)


def _told_by_words(text: str, code: str) -> bool:
    lists = _function_words()
    family = next((group for group in lists.values() if code in group), None)
    if family is None:
        return True
    spoken = Counter(bare_word(word).replace("’", "'") for word in text.split())
    scores = {other: _score(words, spoken) for other, words in family.items()}
    best = max(scores.values())
    return best < FEW_WORDS or scores[code] >= _CLOSE * best


def _score(words: Mapping[str, float], spoken: Counter[str]) -> float:
    return sum(weight * spoken[word] for word, weight in words.items() if word in spoken)


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
