"""Words in an answer: a unit after a number, a text, a name.

A unit phrase is known units with powers, `/` and `per`, or a count noun of a few words. A word that
makes a statement or a hedge (`not`, `more than`, `from`) is in no unit phrase, so `5 more than x` and
`3 of them or 4` are not numbers.
"""

from __future__ import annotations

from assay.verifiers.math.syntax import tables, units
from assay.verifiers.math.syntax.tokens import Token

MAX_WORDS = 4
MAX_TOKENS = 40
"""No unit is longer."""
_SHORT_WORDS = frozenset(("no", "ok"))


def is_words(tokens: list[Token]) -> bool:
    """Whether the tokens are words only: letters in text, or three letters and more side by side."""
    long = False
    for kind, value, _ in tokens:
        if kind in ("word", "run"):
            long = long or len(str(value)) > 2 or not str(value).isascii() or str(value).lower() in _SHORT_WORDS
        elif (kind not in ("let",) and value not in ("-", "'")) or (kind == "let" and len(str(value)) > 1):
            return False
    return long


def is_date(tokens: list[Token]) -> bool:
    """`1/2/2020`, `2020-01-02`."""
    if len(tokens) != 5 or any(token.kind != "num" for token in tokens[::2]):
        return False
    sizes = [len(str(token.value)) for token in tokens[::2]]
    signs = {tokens[1].value, tokens[3].value}
    if signs == {"/"}:
        return (max(sizes[:2]) <= 2 and sizes[2] == 4) or (sizes[0] == 4 and max(sizes[1:]) <= 2)
    return signs == {"-"} and sizes == [4, 2, 2]


def is_clock(tokens: list[Token]) -> bool:
    """`3:05`: a part with a leading zero is no part of a ratio."""
    if any(token.kind != "num" and token.value != ":" for token in tokens):
        return False
    return any(len(str(t.value)) == 2 and str(t.value)[0] == "0" for t in tokens[2:] if t.kind == "num")


def word_text(tokens: list[Token]) -> str:
    """Words in canonical form: lower case, one space between."""
    text = ""
    for token in tokens:
        text += (" " if token.spaced and text else "") + str(token.value)
    return text.casefold()


def unit_phrase(tokens: list[Token]) -> str | None:
    """The canonical name of a unit or count noun that the tokens spell, or None."""
    if len(tokens) > MAX_TOKENS:
        return None
    reader = _Reader()
    return reader.name() if reader.read(tokens, 1) else None


def _changes(word: str) -> bool:
    """Whether a word of a script without spaces says or changes something: `以上`, `平方` without its unit."""
    if any(part in word for part in tables.WIDE_STATEMENTS):
        return True
    return word not in units.POWERS and any(power in word[1:] or word.endswith(power) for power in ("平方", "立方"))


class _Reader:
    """Collects names with exponents, in order."""

    def __init__(self) -> None:
        self.parts: list[tuple[str, int]] = []
        self.words = 0
        self.pending = 0

    def read(self, tokens: list[Token], side: int) -> bool:
        """Collect the names in `tokens`; `side` is -1 below a fraction bar. False where they spell no unit."""
        index, sign = 0, side
        while 0 <= index < len(tokens):
            if tokens[index].value in ("/", "per"):
                sign, index = -side, index + 1 if index + 1 < len(tokens) else -1
            else:
                index = self.step(tokens, index, side, sign)
        return index >= 0 and bool(self.parts)

    def step(self, tokens: list[Token], index: int, side: int, sign: int) -> int:
        """Read one name, exponent or fraction; returns where to go on, or -1."""
        kind, value, spaced = tokens[index]
        following = index + 1
        if kind in ("word", "run", "let"):
            return following if self.word(str(value), kind, spaced=spaced, sign=sign) else -1
        if kind == "money":
            self.parts.append((units.CANONICAL[str(value)], sign))
            return following
        if value == "^":
            return self.exponent(tokens, following) or -1
        if kind == "cmd" and value == "frac":
            return self.fraction(tokens, following, side) or -1
        last_sign = value in ("-", ".") and following == len(tokens) and not self.parts
        return following if value in ("*", "-", "{", "}", "(", ")", ".") and not last_sign else -1

    def word(self, word: str, kind: str, *, spaced: bool, sign: int) -> bool:
        lower = word.lower()
        if lower in tables.FILLER_WORDS:
            return True
        if lower in tables.STATEMENT_WORDS or lower in tables.MODIFIERS or tables.multiplier(word):
            return lower in units.POWERS and self.known_power(lower)
        if lower in tables.PERCENT_WORDS:
            return False
        if not word.isascii() and word not in units.CANONICAL and _changes(word):
            return False
        if lower in units.POWERS:
            self.power(units.POWERS[lower])
            return True
        if kind == "let" and (word not in units.SINGLE_LETTERS or not self.parts):
            return False
        if kind == "run" and not units.is_bare(word, spaced=spaced) and not (len(word) > 2 and spaced):
            return False
        self.words += 1
        exponent = sign * (self.pending or 1)
        self.pending = 0
        self.parts.append((units.canonical_noun(word), exponent))
        return self.words <= MAX_WORDS

    def known_power(self, word: str) -> bool:
        """`meters squared`: only after a known unit."""
        if not self.parts or self.parts[-1][0] not in units.CANONICAL.values():
            return False
        self.power(units.POWERS[word])
        return True

    def power(self, exponent: int) -> None:
        """`square meters` and `meters squared`."""
        if self.parts and self.parts[-1][0] in units.CANONICAL.values() and not self.pending:
            name, sign = self.parts[-1]
            self.parts[-1] = (name, sign * exponent)
        else:
            self.pending = exponent

    def exponent(self, tokens: list[Token], index: int) -> int:
        """`^2`, `^{2}`, `^{-1}`: returns where to go on, or 0."""
        sign = 1
        while index < len(tokens) and tokens[index].value in ("{", "-"):
            sign = -sign if tokens[index].value == "-" else sign
            index += 1
        digits = str(tokens[index].value) if index < len(tokens) else ""
        if not (digits.isdigit() and len(digits) == 1 and self.parts):
            return 0
        name, exponent = self.parts[-1]
        self.parts[-1] = (name, exponent * sign * int(digits))
        return index + 1 + (index + 1 < len(tokens) and tokens[index + 1].value == "}")

    def fraction(self, tokens: list[Token], index: int, side: int) -> int:
        r"""`\frac{km}{h}`: returns where to go on, or 0."""
        for sign in (side, -side):
            if index >= len(tokens) or tokens[index].value != "{":
                return 0
            depth, start = 0, index
            while index < len(tokens):
                depth += {"{": 1, "}": -1}.get(str(tokens[index].value), 0)
                index += 1
                if not depth:
                    break
            inner = tokens[start + 1 : index - 1]
            if not inner or not self.read([Token("word", *t[1:]) if t.kind == "let" else t for t in inner], sign):
                return 0
        return index

    def name(self) -> str:
        """Known units sorted with their exponents; else the words as they stand."""
        if any(name not in units.CANONICAL.values() for name, _ in self.parts):
            return " ".join(name if exponent == 1 else f"{name}^{exponent}" for name, exponent in self.parts)
        merged: dict[str, int] = {}
        for name, exponent in self.parts:
            merged[name] = merged.get(name, 0) + exponent
        joined = "*".join(name if e == 1 else f"{name}^{e}" for name, e in sorted(merged.items()) if e)
        return units.COMPOUND.get(joined, joined)
