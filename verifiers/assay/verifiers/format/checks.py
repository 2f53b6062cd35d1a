"""Constraints on words, characters and structure: IFEval's kinds, each a function of its parameters.

Each check returns whether a text meets the constraint `rule`. Where IFEval's public checker and its instruction text
differ, the instruction counts (contract, appendix): a keyword is a whole word and never a pattern, a character is
counted as asked, "exactly" is exact. As in IFEval, a blank text meets no constraint.
"""

from __future__ import annotations

import re
from typing import Any

from assay.verifiers import strict_json
from assay.verifiers.format.plain import composed, folded, skeleton, visible
from assay.verifiers.format.regions import Region
from assay.verifiers.format.relations import RELATIONS
from assay.verifiers.format.words import EDGES, bare_word, count_words, is_word_char

_PLACEHOLDER = re.compile(r"\[(?=[^\S\n]*+[^\s\[\]])[^\[\]\n]++\]")
_HIGHLIGHT = re.compile(r"\*\*(?=[^\s*])[^*\n]++(?<!\s)\*\*|\*(?=[^\s*])[^*\n]++(?<!\s)\*")
_FENCE = re.compile(r"```[ \t]*+[\w+.-]*+[ \t]*+\r?\n(.*)```", re.DOTALL)


def all_caps(rule: Any, text: Region) -> bool:
    """At least one letter, and no lower-case letter."""
    return any(map(str.isupper, text.letters)) and not any(map(str.islower, text.chars))


def all_lower(rule: Any, text: Region) -> bool:
    """At least one letter, and no upper-case letter."""
    return any(map(str.islower, text.letters)) and not any(c.isupper() or c.istitle() for c in text.chars)


def no_comma(rule: Any, text: Region) -> bool:
    """No comma of any script."""
    return not any(comma in text.text for comma in ",，、،")


def title(rule: Any, text: Region) -> bool:
    """`<<text>>` on one line, not blank."""
    for line in visible(text.text).split("\n"):
        start = line.find("<<")
        end = line.find(">>", start + 2) if start >= 0 else -1
        while start >= 0 and end >= 0:
            if line[start + 2 : end].strip("<> \t"):
                return True
            start = line.find("<<", end)
            end = line.find(">>", start + 2) if start >= 0 else -1
    return False


def quoted(rule: Any, text: Region) -> bool:
    """At least two characters, of which the first and the last are `"`."""
    return len(text.trimmed) > 1 and text.trimmed[0] == text.trimmed[-1] == '"'


def ends_with(rule: Any, text: Region) -> bool:
    """Ends with `text`, ignoring case and a closing quote after it."""
    said, sought = text.folded.rstrip(), folded(rule.text).strip()
    return said.endswith(sought) or said.rstrip('"').rstrip().endswith(sought)


def starts_with(rule: Any, text: Region) -> bool:
    """Starts with `text`, ignoring case."""
    return text.folded.lstrip().startswith(folded(rule.text).strip())


def postscript(rule: Any, text: Region) -> bool:
    """A line starts with `marker`."""
    marker = folded(rule.marker).strip()
    return any(line.strip().startswith(marker) for line in text.folded.split("\n"))


def repeat_prompt(rule: Any, text: Region) -> bool:
    """Starts with `prompt`, ignoring case."""
    return text.folded.lstrip().startswith(folded(rule.prompt).strip())


def keywords(rule: Any, text: Region) -> bool:
    """All, or any, of the words occur."""
    found = (_has_word(word, rule.match, text) for word in rule.all or rule.any)
    return all(found) if rule.all else any(found)


def forbidden(rule: Any, text: Region) -> bool:
    """None of the words occurs, in compatibility forms and look-alike letters of other scripts neither."""
    return not any(
        _has_word(word, rule.match, text) or _occurs(skeleton(word), rule.match, text.skeleton) for word in rule.any
    )


def _has_word(word: str, match: str, text: Region) -> bool:
    return _occurs(folded(word), match, text.folded)


def _occurs(sought: str, match: str, text: str) -> bool:
    return sought in text if match == "literal" else count_words(text, sought) > 0


def keyword_count(rule: Any, text: Region) -> bool:
    """The number of occurrences of a word satisfies `rel n`."""
    return RELATIONS[rule.rel](count_words(text.folded, folded(rule.word)), rule.n)


def word_count(rule: Any, text: Region) -> bool:
    """The number of words satisfies `rel n`."""
    return RELATIONS[rule.rel](len(text.words), rule.n)


def char_count(rule: Any, text: Region) -> bool:
    """The number of occurrences of a character, ignoring case, satisfies `rel n`."""
    return RELATIONS[rule.rel](composed(text.text.lower()).count(composed(rule.char.lower())), rule.n)


def placeholders(rule: Any, text: Region) -> bool:
    """The number of non-blank `[…]` placeholders satisfies `rel n`."""
    return RELATIONS[rule.rel](len(_PLACEHOLDER.findall(visible(text.text))), rule.n)


def bullets(rule: Any, text: Region) -> bool:
    """Exactly n lines are bullets: `-` or `*`, indented or not, and visible text after it."""
    return bool(sum(map(_is_bullet, visible(text.text).split("\n"))) == rule.n)


def _is_bullet(line: str) -> bool:
    """Return whether IFEval's own patterns, `^\\s*\\*[^\\*].*$` and `^\\s*-.*$`, match a line with text in it."""
    line = line.strip()
    if line.startswith("*"):
        return line[1:2] != "*" and bool(line[1:].strip())
    return line.startswith("-") and bool(line.strip("- \t"))


def nth_paragraph_first_word(rule: Any, text: Region) -> bool:
    """The text has exactly `paragraphs` paragraphs, and the n-th starts with `word`."""
    if len(text.paragraphs) != rule.paragraphs:
        return False
    paragraph, sought = folded(text.paragraphs[rule.n - 1]), folded(rule.word)
    word = bare_word(sought) or sought
    start = next((at for at, char in enumerate(paragraph) if is_word_char(char)), 0)
    end = start + len(word)
    return paragraph.startswith(word, start) and not (end < len(paragraph) and is_word_char(paragraph[end]))


def copy_span(rule: Any, text: Region) -> bool:
    """The reply equals words start…end of `text`."""
    wanted = folded(rule.text).split()[rule.start : rule.end + 1]
    return bool(text.folded.split() == wanted)


def sentence_count(rule: Any, text: Region) -> bool:
    """The number of sentences satisfies `rel n`."""
    return RELATIONS[rule.rel](len(text.sentences), rule.n)


def paragraph_count(rule: Any, text: Region) -> bool:
    """The number of paragraphs satisfies `rel n`. They are split at blank lines or the row's separator; none may be
    blank.
    """
    if rule.separator is None:
        return RELATIONS[rule.rel](len(text.paragraphs), rule.n)
    parts = _between(text.text, rule.separator)
    return all(parts) and RELATIONS[rule.rel](len(parts), rule.n)


def _between(text: str, separator: str) -> list[str]:
    """Return the trimmed parts between separators. A separator at either end separates nothing."""
    parts = [part.strip() for part in visible(text).split(visible(separator))]
    first, last = not parts[0], len(parts) > 1 and not parts[-1]
    return parts[int(first) : len(parts) - int(last)]


def highlights(rule: Any, text: Region) -> bool:
    """The number of non-blank `*highlighted*` or `**highlighted**` spans satisfies `rel n`."""
    return RELATIONS[rule.rel](len(_HIGHLIGHT.findall(text.text)), rule.n)


def sections(rule: Any, text: Region) -> bool:
    """The number of lines that start with `marker` and a number, such as `Section 3`, satisfies `rel n`."""
    marker = rule.marker.strip().casefold()
    starts = (line.strip(" \t#*").casefold() for line in text.lines)
    return RELATIONS[rule.rel](sum(_numbered(line, marker) for line in starts), rule.n)


def _numbered(line: str, marker: str) -> bool:
    return line.startswith(marker) and line[len(marker) :].lstrip()[:1].isdigit()


def json(rule: Any, text: Region) -> bool:
    """The whole text, or the content of one code fence around it, is strict JSON."""
    fence = _FENCE.fullmatch(text.trimmed)
    try:
        strict_json.value_of(fence[1] if fence else text.trimmed)
    except strict_json.JsonFault:
        return False
    return True


def two_responses(rule: Any, text: Region) -> bool:
    """Two different responses with the separator between them."""
    parts = _between(text.text, rule.separator)
    return len(parts) == 2 and all(parts) and parts[0] != parts[1]


def one_of(rule: Any, text: Region) -> bool:
    """The text is one of the options, ignoring case and punctuation at the ends."""
    return _bare(text.folded) in {_bare(folded(option)) for option in rule.options}


def _bare(text: str) -> str:
    return text.strip(EDGES + " \t\r\n") or text.strip()


def capital_words(rule: Any, text: Region) -> bool:
    """The number of words in all capitals satisfies `rel n`."""
    return RELATIONS[rule.rel](sum(map(str.isupper, text.words)), rule.n)
