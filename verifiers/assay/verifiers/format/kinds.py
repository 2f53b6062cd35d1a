"""The table of constraint kinds: the check of each, and what makes a row's constraint unusable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from assay.verifiers.format import checks, instructions, languages, layouts, wording
from assay.verifiers.format.plain import folded, is_blank
from assay.verifiers.format.regions import Region

Check = Callable[[Any, Region], bool]

TEXT_CHECKS: Mapping[str, Check] = {
    "all_caps": checks.all_caps,
    "all_lower": checks.all_lower,
    "bullets": checks.bullets,
    "capital_words": checks.capital_words,
    "char_count": checks.char_count,
    "copy_span": checks.copy_span,
    "ends_with": checks.ends_with,
    "forbidden": checks.forbidden,
    "highlights": checks.highlights,
    "json": checks.json,
    "keyword_count": checks.keyword_count,
    "keywords": checks.keywords,
    "no_comma": checks.no_comma,
    "nth_paragraph_first_word": checks.nth_paragraph_first_word,
    "one_of": checks.one_of,
    "paragraph_count": checks.paragraph_count,
    "placeholders": checks.placeholders,
    "postscript": checks.postscript,
    "quoted": checks.quoted,
    "repeat_prompt": checks.repeat_prompt,
    "sections": checks.sections,
    "sentence_count": checks.sentence_count,
    "starts_with": checks.starts_with,
    "title": checks.title,
    "two_responses": checks.two_responses,
    "word_count": checks.word_count,
    **instructions.CHECKS,
    **wording.CHECKS,
    **layouts.CHECKS,
}
"""Checks of a text. A blank text meets none of them."""


def _blank(words: Iterable[str], match: str = "word") -> str | None:
    """Return a fault if a word would occur in no text or in every text."""
    nothing = is_blank if match == "word" else lambda word: not folded(word)
    return "blank word" if any(map(nothing, words)) else None


FAULTS: Mapping[str, Callable[[Any], str | None]] = {
    "soft_overlong": lambda rule: "cache exceeds max" if rule.cache > rule.max else None,
    "nth_paragraph_first_word": lambda rule: "n exceeds paragraphs" if rule.n > rule.paragraphs else None,
    "copy_span": lambda rule: (
        None if rule.start <= rule.end < len(rule.text.split()) else "start and end are not word positions of text"
    ),
    "language": lambda rule: None if languages.known(rule.code) else "unknown language",
    "language_consistency": lambda rule: None if languages.known(rule.code) else "unknown language",
    "nth_words": lambda rule: None if languages.known(rule.code) else "unknown language",
    "copies": lambda rule: None if not is_blank(rule.text) else "blank text",
    "changed_first_word": lambda rule: None if not is_blank(rule.text) else "blank text",
    "distinct_keywords": lambda rule: _blank(rule.words),
    "item_list": lambda rule: _blank(rule.items),
    "template": lambda rule: _blank(rule.labels),
    "ends_with": lambda rule: None if not is_blank(rule.text) else "blank text",
    "starts_with": lambda rule: None if not is_blank(rule.text) else "blank text",
    "postscript": lambda rule: None if not is_blank(rule.marker) else "blank marker",
    "repeat_prompt": lambda rule: None if not is_blank(rule.prompt) else "blank prompt",
    "forbidden": lambda rule: _blank(rule.any or (), rule.match),
    "keywords": lambda rule: _blank(rule.all or rule.any or (), rule.match),
    "keyword_count": lambda rule: _blank([rule.word]),
    "sentence_keyword": lambda rule: _blank([rule.word]),
    "sections": lambda rule: None if not is_blank(rule.marker) else "blank marker",
}
"""Faults of a constraint that cannot be checked or checks nothing, by kind."""
