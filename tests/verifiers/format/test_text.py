"""What words, sentences, emoji and nests are, and what dresses up as one."""

import time
from typing import Any

import pytest

from assay.verifiers.format.emoji import begins_with_emoji, ends_with_emoji
from assay.verifiers.format.nesting import bracket_depth, quote_depth
from assay.verifiers.format.sentences import sentences, split_sentences
from assay.verifiers.format.words import count_words

from .._scoring import refused, verdict


def value(text: str, /, **rule: Any) -> float:
    return verdict("format", text, {"constraints": [rule], "aggregate": "all"}).reward


NOTHING = [".", "---", "*", "\u200b", "\u00ad", "...", "\ufeff \u2060", "`_`"]
OF_WORDS = [
    {"type": "alphabet_words"},
    {"type": "no_repeated_initial"},
    {"type": "consonant_clusters"},
    {"type": "emoji_endings"},
    {"type": "prime_lengths"},
    {"type": "paragraph_last_first"},
    {"type": "stop_word_ratio", "max": 100},
    {"type": "palindromes", "rel": ">=", "n": 1},
]


@pytest.mark.parametrize("rule", OF_WORDS, ids=str)
def test_a_text_without_a_word_meets_no_constraint_on_words(rule: dict[str, Any]) -> None:
    assert [text for text in NOTHING if value(text, **rule)] == []


def test_what_shows_nothing_is_blank() -> None:
    assert value("<think>a</think><answer>\u200b</answer>", type="think_answer") == 0
    assert value("<think>a</think>\u200b\u2060", type="think") == value("\u200b\u00ad", type="no_comma") == 0
    assert value("[ ] [\u200b] []", type="placeholders", rel="==", n=0) == 1
    assert value("<think>a</think><answer>b</answer>", type="think_answer", strict=True) == 1


@pytest.mark.parametrize(
    "text", ["_bad_", "__bad__", "ba\u200bd", "b\u00ada\ufe0fd", "*bad*", "bad!", "a bad\nb", "BAD's"]
)
def test_a_forbidden_word_hides_in_no_dress(text: str) -> None:
    assert value(f"so {text} here", type="forbidden", any=["bad"]) == 0
    assert value(f"so {text} here", type="keywords", all=["bad"]) == 1


@pytest.mark.parametrize("text", ["badly", "abad", "bad_word", "my_bad", "ba-d", "b ad", "bad\u0301"])
def test_a_longer_word_is_another_word(text: str) -> None:
    assert value(f"so {text} here", type="forbidden", any=["bad"]) == 1


@pytest.mark.parametrize(
    ("text", "word", "count"),
    [
        ("caf\u00e9 cafe\u0301", "cafe\u0301", 2),
        ("caf\u00e9", "cafe", 0),
        ("这是坏的", "坏", 1),
        ("买iPhone好", "iphone", 1),
        ("ひらがな", "ら", 1),
        ("слово словом", "слово", 1),
        ("deep\nlearning deep  learning deeplearning", "deep learning", 2),
        ("xbad bad bad", "bad bad", 1),
        ("c++ c", "c++", 1),
        ("straße STRASSE", "Straße", 2),
    ],
)
def test_words_are_counted_as_a_reader_does(text: str, word: str, count: int) -> None:
    assert value(text, type="keyword_count", word=word, rel="==", n=count) == 1


def test_a_blank_word_refuses_the_row() -> None:
    for rule in ({"type": "keywords", "all": ["\u200b"]}, {"type": "keyword_count", "word": " ", "rel": "==", "n": 0}):
        assert refused("format", {"constraints": [rule], "aggregate": "all"})


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Dr. Smith met Mr. Jones of the U.S. Army.", 1),
        ("Fruits, e.g. apples, are fine.", 1),
        ("We left the U.S. It was late.", 2),
        ("Then J. Hartley had left. He was old.", 2),
        ("See No. 5 and Fig. 2. Then stop.", 2),
        ("He said no. Then he left.", 2),
        ("Tea, milk, etc. are here. Tea etc. He left.", 3),
        ("At 5 p.m. he left. At 6 p.m. She left.", 3),
        ("1. Apples are red.\n2. Pears are green.", 2),
        ("It was 1999. He left.", 2),
        ("Is it? Yes! No... Well.", 4),
        ("你好。世界！", 2),
        ("**Bold.** Next.", 2),
        ("hello world. this is fine.", 2),
        ("Pi is 3.14 here.", 1),
        ("A. B. C?", 3),
        ("", 0),
    ],
)
def test_where_sentences_end(text: str, count: int) -> None:
    assert len(list(sentences(text))) == count and "".join(split_sentences(text)) == text


@pytest.mark.parametrize(
    "emoji",
    ["😀", "❤️", "1️⃣", "‼️", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "👩‍🚀", "👍🏽", "🇩🇪"],
)
def test_an_emoji_is_one_whole_picture(emoji: str) -> None:
    assert ends_with_emoji(f"x {emoji}") and begins_with_emoji(emoji)
    for text in (f"Go {emoji}.", f"Go. {emoji} Stop! {emoji}", f"Go ({emoji}).", f"Go.{emoji}\nStop{emoji}", emoji):
        assert value(text, type="emoji_endings") == 1, text
    for text in (f"Go. Stop {emoji}", f"{emoji} Go.", f"Go {emoji}\nStop", f"Go. {emoji} Stop.", f"你好。世界{emoji}"):
        assert value(text, type="emoji_endings") == 0, text


@pytest.mark.parametrize("sign", ["°", "■", "│", "©", "‼", "1", "→", "✗", "$", "a"])
def test_other_signs_are_no_emoji(sign: str) -> None:
    assert not ends_with_emoji(f"x {sign}")


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("1) item (a [b {c (d [e])}])", 5),
        ("(a [b {c (d [e])}]) :)", 5),
        ("(a [b 2) c])", 2),
        ("((a))", 2),
        ("(((a)", 1),
        ("([)]{}", 1),
        (")(", 0),
        ("(" * 9, 0),
    ],
)
def test_brackets_nest_in_pairs(text: str, depth: int) -> None:
    assert bracket_depth(text) == depth


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ('"a \'b "c" d\' e" the dogs\' ball', 3),
        ("“a ‘b “c” d’ e”", 3),
        ("“a ‘b’s c’ d”", 2),
        ("\"it's 'fine'\"", 2),
        ('"a" "b"', 1),
        ('"\'tis so"', 1),
        ("““a””", 1),
        ("the dogs' ball", 0),
        ('5" and 6" tall', 0),
    ],
)
def test_quotes_nest_in_turn(text: str, depth: int) -> None:
    assert quote_depth(text) == depth


@pytest.mark.parametrize(
    ("text", "rule", "expected"),
    [
        ("аи оу еи", {"type": "consonant_clusters"}, 0),
        ("你好 世界", {"type": "consonant_clusters"}, 0),
        ("né", {"type": "consonant_clusters"}, 0),
        ("Señor's strengths", {"type": "consonant_clusters"}, 0),
        ("naïvely strict", {"type": "consonant_clusters"}, 1),
        ("weiß", {"type": "prime_lengths"}, 0),
        ("because during should being between", {"type": "stop_word_ratio", "max": 20}, 0),
        ("people use water way find", {"type": "stop_word_ratio", "max": 0}, 1),
        ("I don’t.", {"type": "stop_word_ratio", "max": 99}, 0),
        ("It is .5 here", {"type": "number_count", "rel": "==", "n": 1}, 1),
        ("Versions v1 and x.5", {"type": "number_count", "rel": "==", "n": 0}, 1),
        ("HELLO ⓐⓑ", {"type": "all_caps"}, 0),
        ("hello Ⓐ", {"type": "all_lower"}, 0),
        ("é í ó ú á", {"type": "distinct_vowels", "rel": "==", "n": 5}, 1),
        ("e\u0301", {"type": "char_count", "char": "é", "rel": "==", "n": 1}, 1),
        ("she/her", {"type": "pronouns", "rel": ">=", "n": 2}, 1),
        ("Cats love cats.\nDogs love dogs.", {"type": "paragraph_last_first"}, 1),
        ("Cats love\ncats.\n\nDogs love dogs.", {"type": "paragraph_last_first"}, 1),
        ("Cats love dogs.\nDogs love us.", {"type": "paragraph_last_first"}, 0),
        ('He said "hi"', {"type": "ends_with", "text": 'said "hi"'}, 1),
        ("<<\u200b>>", {"type": "title"}, 0),
        ("cafe\u0301 au lait", {"type": "nth_paragraph_first_word", "paragraphs": 1, "n": 1, "word": "café"}, 1),
        ("cafe\u0301 noir", {"type": "word_at", "word": "Café", "n": 1}, 1),
        ("a b", {"type": "forbidden", "any": [" "], "match": "literal"}, 0),
        ("Yes.", {"type": "one_of", "options": ["yes", "no"]}, 1),
        ("Yes, no.", {"type": "one_of", "options": ["yes", "no"]}, 0),
        ('Any other questions? "', {"type": "ends_with", "text": "questions?"}, 1),
        ('```json\n{"a":1}```', {"type": "json"}, 1),
        ('```json\n{"a":1}``` x', {"type": "json"}, 0),
        ("******\na\n******\nb\n******", {"type": "two_responses"}, 1),
        ("a ****** ****** b", {"type": "two_responses"}, 0),
        ("***\na\n***\nb", {"type": "paragraph_count", "separator": "***", "rel": "==", "n": 2}, 1),
        ("a\n***\n \n***\nb", {"type": "paragraph_count", "separator": "***", "rel": ">=", "n": 0}, 0),
        ("A b. C d. E f! G h?", {"type": "sentence_types", "statements": 2, "questions": 1}, 1),
        ("A b. C d!", {"type": "sentence_types", "statements": 1, "questions": 0}, 0),
    ],
)
def test_kinds_on_texts_that_dress_up(text: str, rule: dict[str, Any], expected: int) -> None:
    assert value(text, **rule) == expected


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "alliteration_increment"},
        {"type": "sentence_types", "statements": 1, "questions": 1},
        {"type": "sentence_count", "rel": ">=", "n": 1},
        {"type": "emoji_endings"},
        {"type": "nested_quotes", "depth": 3},
    ],
    ids=lambda rule: str(rule["type"]),
)
def test_dense_text_costs_no_more_than_its_length(rule: dict[str, Any]) -> None:
    start = time.process_time()
    for unit in ("A. ", "Dr. ", "a", "\"' ", "。", "U.S.\n"):
        value(unit * (200_000 // len(unit)), **rule)
    assert time.process_time() - start < 15


def test_counting_is_linear() -> None:
    start = time.process_time()
    for text, word in (("bad_" * 100_000, "bad"), ("_" * 400_000 + "bad", "bad"), ("xa " * 100_000, "a x")):
        count_words(text, word)
    assert time.process_time() - start < 10


INVISIBLE = ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u200b\u00ad"]


@pytest.mark.parametrize("mark", INVISIBLE, ids=ascii)
def test_invisible_characters_are_no_part_paragraph_word_or_bullet(mark: str) -> None:
    def met(text: str, **rule: object) -> bool:
        return verdict("format", text, {"constraints": [rule], "aggregate": "all"}).reward == 1

    three = {"type": "paragraph_count", "rel": "==", "n": 3}
    assert not met(f"One.\n\n{mark}\n\nThree.", **three) and met("One.\n\nTwo.\n\nThree.", **three)
    assert not met(f"One.\n***\n{mark}\n***\nThree.", **three, separator="***")
    assert met("One.\n***\nTwo.\n***\nThree.", **three, separator="***")
    assert met(f"one {mark} two", type="word_count", rel="==", n=2)
    assert met(f"- one\n- {mark}\n  * two", type="bullets", n=2)


@pytest.mark.parametrize("written", ["sеcret", "ѕecret", "ｓｅｃｒｅｔ", "ⓢⓔⓒⓡⓔⓣ", "SECRET", "seс\u200bret"])
def test_a_forbidden_word_is_found_in_look_alike_letters(written: str) -> None:
    rule = {"constraints": [{"type": "forbidden", "any": ["secret"], "match": "word"}], "aggregate": "all"}
    assert verdict("format", f"This is a {written} plan.", rule).reward == 0
    assert verdict("format", "This is a sacred plan.", rule).reward == 1


def test_pieces_without_letter_or_digit_are_no_words() -> None:
    rule = {"constraints": [{"type": "word_count", "rel": "==", "n": 3}], "aggregate": "all"}
    assert verdict("format", "one - two — three !", rule).reward == 1
