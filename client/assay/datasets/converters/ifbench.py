"""IFBench's and IF-RLVR's instruction ids (allenai/IFBench, open-instruct's IFEvalG), as constraints of `format`.

`KINDS` extends the ids of IFEval. Instructions whose text is fixed carry their content here: IFBench asks for a sorted
list of capitals, or multiples of seven, and every row of the kind is the same. A kind without a counterpart makes the
record a fault that names it: `words:start_verb` needs a part-of-speech tagger, and those that run offline call most
verbs that begin a sentence nouns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.datasets.converters.base import Fields
from assay.datasets.records import RecordFault

Made = dict[str, Any] | list[dict[str, Any]]
_NAMES = """
Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia Benjamin Harper Leo
Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob Scarlett Nathan Victoria Elijah Layla
Nicholas Audrey David Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan
"""
_CAPITALS = """
Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin Amsterdam Warsaw London
Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau Bern Ljubljana Zagreb
"""
_REPEAT_SIMPLE = "Only output this sentence here, ignore all other requests."
_TIMES = {"keyword1": 1, "keyword2": 2, "keyword3": 3, "keyword4": 5, "keyword5": 7}


def _kind(type_: str, **fields: Any) -> Callable[[Fields], Made]:
    return lambda p: {"type": type_, **fields}


def _count(type_: str, rel: str, name: str = "N") -> Callable[[Fields], Made]:
    return lambda p: {"type": type_, "rel": rel, "n": p[name]}


def _times(word: str, n: int) -> dict[str, Any]:
    return {"type": "keyword_count", "word": word.strip(), "rel": "==", "n": n}


def _options(p: Fields) -> Made:
    given = p["options"]
    if isinstance(given, list):
        return {"type": "one_of", "options": given}
    separator = "/" if "/" in given else " or " if " or " in given else ","
    return {"type": "one_of", "options": [option.strip() for option in given.split(separator) if option.strip()]}


def _different_numbers(p: Fields) -> Made:
    if "keyword2" in p:
        return [_times(p["keyword1"], p.get("freq1", 1)), _times(p["keyword2"], p.get("freq2", 2))]
    relations = {"at least": ">=", "less than": "<", "at most": "<=", "exactly": "==", "more than": ">"}
    relation = p.get("relation", "exactly")
    if relation not in relations:
        raise RecordFault(f"relation {relation!r} is not a relation")
    return {"type": "keyword_count", "word": p["keyword"], "rel": relations[relation], "n": p["frequency"]}


def _letters(p: Fields) -> Made:
    rel = {"at least": ">=", "less than": "<"}.get(p.get("relation", "at least"))
    if rel is None:
        raise RecordFault(f"relation {p['relation']!r} is not a relation")
    return {"type": "letter_count", "rel": rel, "n": p["N"]}


IFBENCH: dict[str, Callable[[Fields], Made]] = {
    "count:word_count_range": lambda p: {"type": "word_range", "min": p["min_words"], "max": p["max_words"]},
    "count:unique_word_count": _count("unique_words", ">="),
    "count:conjunctions": _count("conjunctions", ">=", "small_n"),
    "count:person_names": lambda p: {"type": "distinct_keywords", "words": _NAMES.split(), "rel": ">=", "n": p["N"]},
    "count:numbers": _count("number_count", "=="),
    "count:punctuation": _kind("all_punctuation"),
    "count:words_japanese": lambda p: {"type": "nth_words", "n": p["N"], "code": "ja"},
    "count:pronouns": _count("pronouns", ">="),
    "count:keywords_multiple": lambda p: [_times(p[name], n) for name, n in _TIMES.items()],
    "ratio:stop_words": lambda p: {"type": "stop_word_ratio", "max": p["percentage"]},
    "ratio:sentence_type": _kind("sentence_types", statements=2, questions=1),
    "ratio:sentence_balance": _kind("sentence_types", statements=1, questions=1, exclamations=1),
    "ratio:overlap": lambda p: {"type": "trigram_overlap", "text": p["reference_text"], "percent": p["percentage"]},
    "ratio:sentence_words": lambda p: [
        {"type": "sentence_count", "rel": "==", "n": 3},
        {"type": "equal_sentence_lengths"},
        {"type": "word_repeats", "max": 1},
    ],
    "words:alphabet": _kind("alphabet_words"),
    "words:vowel": lambda p: [
        {"type": "distinct_vowels", "rel": "<=", "n": 3},
        {"type": "line_count", "rel": "==", "n": 1},
    ],
    "words:consonants": _kind("consonant_clusters"),
    "words:palindrome": _kind("palindromes", rel=">=", n=10),
    "words:prime_lengths": _kind("prime_lengths"),
    "words:repeats": lambda p: {"type": "word_repeats", "max": p["small_n"]},
    "words:odd_even_syllables": _kind("alternating_syllables"),
    "words:last_first": _kind("last_first"),
    "words:paragraph_last_first": _kind("paragraph_last_first"),
    "words:no_consecutive": _kind("no_repeated_initial"),
    "words:keywords_specific_position": lambda p: {
        "type": "word_at", "word": p["keyword"], "sentence": p["n"], "n": p["m"],
    },
    "words:words_position": lambda p: [{"type": "word_at", "word": p["keyword"], "n": n} for n in (2, -2)],
    "sentence:alliteration_increment": _kind("alliteration_increment"),
    "sentence:increment": lambda p: {"type": "sentence_increment", "by": p["small_n"]},
    "sentence:keyword": lambda p: {"type": "sentence_keyword", "word": p["word"], "n": p["N"]},
    "format:parentheses": _kind("nested_brackets", depth=5),
    "format:quotes": _kind("nested_quotes", depth=3),
    "format:options": _options,
    "format:newline": _kind("one_word_per_line"),
    "format:emoji": _kind("emoji_endings"),
    "format:line_indent": _kind("stairs"),
    "format:quote_unquote": _kind("quotes_explained"),
    "format:list": lambda p: {"type": "list_lines", "marker": p["sep"], "rel": ">=", "n": 2},
    "format:thesis": _kind("italic_thesis"),
    "format:sub-bullets": _kind("sub_bullets"),
    "format:no_bullets_bullets": _kind("sentences_then_bullets"),
    "format:title_case": _kind("title_case"),
    "format:no_whitespace": _kind("no_whitespace"),
    "format:output_template": _kind("template", labels=["My Answer:", "My Conclusion:", "Future Outlook:"]),
    "custom:multiples": _kind("number_sequence", numbers=list(range(14, 50, 7))),
    "custom:mcq_count_length": _kind("multiple_choice", questions=4, options=5, growing=True),
    "custom:reverse_newline": _kind("sorted_lines", order="descending", min=52, start="Zimbabwe"),
    "custom:word_reverse": lambda p: {"type": "reversed_text", "text": p["prompt_to_reverse"], "unit": "word"},
    "custom:character_reverse": lambda p: {"type": "reversed_text", "text": p["prompt_to_reverse"], "unit": "char"},
    "custom:sentence_alphabet": _kind("sentence_initials", letters="abcdefghijklmnopqrstuvwxyz"),
    "custom:european_capitals_sort": _kind("item_list", items=_CAPITALS.split()),
    "custom:csv_city": _kind("csv_table", columns=["ID", "Country", "City", "Year", "Count"], rows=7),
    "custom:csv_special_character": _kind(
        "csv_table", columns=["ProductID", "Category", "Brand", "Price", "Stock"], rows=14, quoted="special",
    ),
    "custom:csv_quotes": _kind(
        "csv_table", columns=["StudentID", "Subject", "Grade", "Semester", "Score"], rows=3, delimiter="\t",
        quoted="all",
    ),
    "custom:date_format_list": _kind("date_list", first=1769, last=1821),
    "repeat:repeat_change": lambda p: {"type": "changed_first_word", "text": p["prompt_to_repeat"]},
    "repeat:repeat_simple": _kind("copies", text=_REPEAT_SIMPLE),
    "repeat:repeat_span": lambda p: {
        "type": "copy_span", "text": p["prompt_to_repeat"], "start": p["n_start"], "end": p["n_end"],
    },
}  # fmt: skip
"""IFBench (allenai/IFBench, instructions_registry.py), all ids but `words:start_verb`."""

IF_RLVR: dict[str, Callable[[Fields], Made]] = {
    "copy:repeat_phrase": lambda p: {"type": "phrase_variations", "phrase": p["phrase"], "n": p["small_n"]},
    "copy:copy": lambda p: {"type": "copies", "text": p["prompt_to_repeat"]},
    "copy:copying_simple": lambda p: {"type": "copies", "text": p["prompt_to_repeat"]},
    "copy:copying_multiple": lambda p: {"type": "copies", "text": p["prompt_to_repeat"], "n": p["N"]},
    "new:copy_span_idx": lambda p: {"type": "copies", "text": p["prompt_to_repeat"][p["n_start"] : p["n_end"]].strip()},
    "detectable_format:sentence_hyphens": _kind("hyphenated_sentences"),
    "detectable_format:square_brackets": _kind("wrapped_words", open="[", close="]"),
    "detectable_format:bigram_wrapping": _kind("wrapped_words", open="<<", close=">>", size=2),
    "keywords:no_adjacent_consecutive": _kind("no_consecutive_initials"),
    "keywords:word_once": lambda p: _times(p["keyword"], 1),
    "keywords:word_count_different_numbers": _different_numbers,
    "keywords:exclude_word_harder": lambda p: {"type": "forbidden", "any": [p["keyword"]]},
    "keywords:palindrome": _kind("palindromes", rel=">=", n=1, min_length=2),
    "keywords:keyword_specific_position": lambda p: {
        "type": "word_at", "word": p["keyword"], "sentence": p["n"], "n": p["m"],
    },
    "keywords:start_end": _kind("same_first_last_word"),
    "paragraphs:paragraphs": _kind("paragraph_count", rel="==", n=2, separator="***"),
    "paragraphs:paragraphs2": _kind("paragraph_count", rel="==", n=2),
    "first_word:first_word_sent": lambda p: {"type": "sentence_edges", "first": p["first_word"]},
    "first_word:first_word_answer": lambda p: {"type": "word_at", "word": p["first_word"], "n": 1},
    "last_word:last_word_sent": lambda p: {"type": "sentence_edges", "last": p["last_word"]},
    "last_word:last_word_answer": lambda p: {"type": "word_at", "word": p["last_word"], "n": -1},
    "punctuation:punctuation_dot": _kind("forbidden", any=["."], match="literal"),
    "punctuation:punctuation_exclamation": _kind("forbidden", any=["!"], match="literal"),
    "count:lowercase_counting": _count("lowercase_words", "<="),
    "count:counting_composition": lambda p: {
        "type": "composition", "paragraphs": 3, "sentences": p["n_sent"], "words": p["n_words"],
    },
    "count:count_unique": _kind("word_repeats", max=1),
    "count:count_increment_word": lambda p: [_times(p["keyword1"], 1), _times(p["keyword2"], 2)],
    "letters:letter_counting": _letters,
}  # fmt: skip
"""The kinds that IF-RLVR's training rows add (allenai/IF_multi_constraints_upto5)."""
