"""One side of a comparison, read: text -> tokens -> tree -> typed value.

Words that announce a value and a bracketed note after it are dropped; everything else must be read
whole, or the side is `Opaque` and equal only as text. Reading never raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from assay.verifiers.extract.found import words
from assay.verifiers.math.answer import announcing
from assay.verifiers.math.answer.escapes import single_escapes
from assay.verifiers.math.equality.exact import NoValue
from assay.verifiers.math.equality.scalar import Scalar
from assay.verifiers.math.syntax import units
from assay.verifiers.math.syntax.cursor import END
from assay.verifiers.math.syntax.nodes import Node, Num, Unparsed, neg
from assay.verifiers.math.syntax.numerals import decimal
from assay.verifiers.math.syntax.parser import parse
from assay.verifiers.math.syntax.phrases import MAX_TOKENS, unit_phrase
from assay.verifiers.math.syntax.tokens import Token, tokenise
from assay.verifiers.math.values.kinds import Measured, Members, Named, Nothing, One, Opaque, Ordered, Text, Value
from assay.verifiers.math.values.shapes import value_of

_PLAIN = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?")
_LONGEST_ANNOUNCEMENT = 14
_VERBS = words("is are equals be")
# `12 (cm)`: the note is the unit.
_REAL_UNITS = frozenset(units.CANONICAL.values()) - {"unit"}
_HEDGES = words(
    """
    guess guessing guessed likely unlikely unsure uncertain or not no nor neither either 或 maybe perhaps
    possibly if mod modulo except but unless instead
    """
)
_TAKING_BACK = _HEDGES | words("wrong incorrect false actually wait rather correction correct scratch none neither")
_OPTIONS = frozenset("ABCDEFGH")
_BINDING = frozenset(
    ("+", "-", "*", "/", "=", "<", ">", "<=", ">=", "!=", "^", "_", "cup", "cap", "setminus", "in", "notin")
)


@dataclass(frozen=True, eq=False)
class Reading:
    """A side as it was read."""

    text: str
    tokens: tuple[Token, ...]
    value: Value
    tree: Node | None = None

    @cached_property
    def canonical(self) -> tuple[tuple[str, object], ...]:
        """Equal for texts that differ in spacing and style only."""
        return tuple((kind, value) for kind, value, _ in self.tokens)

    def same_form(self, other: Reading) -> bool:
        """Whether both are one text but for spacing and style; what equals nothing does not equal itself."""
        if isinstance(self.value, Nothing) or isinstance(other.value, Nothing):
            return False
        return self.canonical == other.canonical

    @cached_property
    def choice(self) -> str:
        """The capital letter that it chooses: `C`, `(C)`, `C. 12`; else ""."""
        return choice_letter(list(self.tokens))


def read(text: str) -> Reading:
    r"""Read an answer, with single backslashes if it doubles those of its commands (`\\frac12`) and is read so."""
    single = single_escapes(text)
    if single:
        reading = _read(single)
        if not isinstance(reading.value, Opaque):
            return Reading(text, reading.tokens, reading.value, reading.tree)
    return _read(text)


def _read(text: str) -> Reading:
    bare = text.strip()
    if _PLAIN.fullmatch(bare):
        return _plain(text, bare)
    if bare[:2] == "**" == bare[-2:]:
        text = bare[2:-2]
    try:
        tokens = tokenise(text)
    except Unparsed as error:
        return Reading(text, (Token("raw", " ".join(text.split()), False),), Opaque(_squeezed(text), str(error)))
    tokens = without_remark(without_announcement(_trimmed(tokens)))
    try:
        tree = parse(tokens)
        value = value_of(tree)
    except Unparsed as error:
        return Reading(text, tuple(tokens), _unread(tokens, str(error)))
    except NoValue:
        return Reading(text, tuple(tokens), _unread(tokens, "something in it has no value"))
    except RecursionError:
        return Reading(text, tuple(tokens), _unread(tokens, "nested too deep"))
    return Reading(text, tuple(tokens), value, tree)


def _plain(text: str, digits: str) -> Reading:
    """A plain number: what most answers are."""
    number = Num(decimal(digits.lstrip("-")))
    token = Token("num", digits.lstrip("-"), False)
    if digits[0] != "-":
        return Reading(text, (token,), One(Scalar(number)), number)
    tree = neg(number)
    return Reading(text, (Token("op", "-", False), token), One(Scalar(tree)), tree)


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()


def _unread(tokens: list[Token], why: str) -> Value:
    """What was not read stays text."""
    text = " ".join(str(v).casefold() if k in ("word", "run") and len(str(v)) > 2 else str(v) for k, v, _ in tokens)
    return Opaque(text, why)


def _trimmed(tokens: list[Token]) -> list[Token]:
    """Without final stops and commas, and without outer braces."""
    while (
        tokens
        and tokens[-1].kind in ("op", "row")
        and (tokens[-1].value in (".", ",", ";", ":") or tokens[-1].kind == "row")
    ):
        tokens = tokens[:-1]
    if tokens and tokens[-1].kind == "num" and str(tokens[-1].value).endswith("."):
        tokens = [*tokens[:-1], tokens[-1]._replace(value=str(tokens[-1].value)[:-1])]
    return tokens


def without_announcement(tokens: list[Token]) -> list[Token]:
    """Drop `The answer is`: announcing words that end in `is`, `equals` or a colon.

    Before words only the commonest go: `G is invertible` is a text.
    """
    said: list[str] = []
    for index, token in enumerate(tokens[:_LONGEST_ANNOUNCEMENT]):
        value = str(token.value).lower()
        rest = tokens[index + 1 :]
        if value == ":" and index and tokens[index - 1].kind in ("word", "run"):
            return rest if all(word in announcing.CORE for word in said) else tokens
        if token.kind not in ("word", "run", "let") and not (value == "-" and index):
            return tokens
        if value in _VERBS and index:
            rest = rest[1:] if rest and rest[0].value == ":" else rest
            known = all(word in announcing.CORE for word in said)
            worded = bool(rest) and rest[0].kind in ("word", "run")
            return rest if rest and (known or (not worded and announcing.announces(said))) else tokens
        if value != "-":
            said.append(value)
    return tokens


def without_remark(tokens: list[Token]) -> list[Token]:
    """Drop a bracketed note at the end: `42 (units)`. A note that hedges stays, and spoils the answer."""
    if len(tokens) < 4 or tokens[-1].value != ")":
        return tokens
    depth = 0
    for index in range(len(tokens) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(str(tokens[index].value), 0)
        if not depth:
            inner = tokens[index + 1 : -1]
            if not _is_remark(tokens[index - 1], tokens[index], inner):
                return tokens
            unit = unit_phrase(inner)
            return tokens[:index] + inner if unit in _REAL_UNITS else tokens[:index]
    return tokens


def _is_remark(before: Token, opening: Token, inner: list[Token]) -> bool:
    if before.kind in ("func", "cmd", "op") and before.value not in (")", "]", "}", "%", "!", ")}", "deg"):
        return False
    named = [
        t
        for t in inner
        if (t.kind == "word" and len(str(t.value)) > 1) or (t.kind == "word" and ord(str(t.value)[0]) > 0x2E80)
    ]
    spelled = [t for t in inner if t.kind == "run" and opening.spaced]
    if not named and not spelled:
        return False
    return announcing.is_harmless(inner)


def choice_letter(tokens: list[Token]) -> str:
    """The choice that the tokens name, or ""."""
    tokens = [token for token in tokens if token.value not in ("{", "}")]
    index, size = 0, len(tokens)
    if size and str(tokens[0].value).lower() in ("option", "choice", "answer", "letter", "选项", "选"):
        index = 1
    bracketed = index < size and tokens[index].value == "("
    index += bracketed
    if index >= size or not _is_letter(tokens[index]):
        return ""
    letter, index = str(tokens[index].value), index + 1
    if bracketed:
        if index >= size or tokens[index].value != ")":
            return ""
        rest = tokens[index + 1 :]
    elif index < size:
        if tokens[index].value not in (".", ")", ":"):
            return ""
        rest = tokens[index + 1 :]
    else:
        rest = []
    return "" if _spoils(rest) else letter


def _is_letter(token: Token) -> bool:
    value = str(token.value)
    return token.kind in ("let", "word") and len(value) == 1 and "A" <= value <= "Z"


def _spoils(rest: list[Token]) -> bool:
    """Whether what follows a choice names another one, joins, or takes it back."""
    if len(rest) == 1 and _is_letter(rest[0]):
        return True
    if rest and (rest[0].kind == "joint" or rest[0].value in (",", "/", "=", "+", "-", "^", "&", ";", "_")):
        return True
    for index, token in enumerate(rest):
        if str(token.value).lower() in _TAKING_BACK or (token.kind == "joint" and token.value == "or"):
            return True
        if _is_letter(token) and _stands_alone(rest, index):
            return True
        following = str(rest[index + 1].value) if index + 1 < len(rest) else ""
        if _is_letter(token) and (following in (")", ":") or (following == "." and index + 2 < len(rest))):
            return True
    return False


def _stands_alone(rest: list[Token], index: int) -> bool:
    """Whether a letter in an option's text may name another option: `12, D`; in `A = 2r` it is a symbol."""
    before = rest[index - 1] if index else END
    after = rest[index + 1] if index + 1 < len(rest) else END
    if before.kind == "joint" or before.value in (",", ";"):
        return not _binds(after)
    return str(rest[index].value) in _OPTIONS and not (_binds(before) and before.value != "/") and not _binds(after)


def _binds(token: Token) -> bool:
    """Whether a sign makes the letter beside it a symbol of a formula."""
    return token.kind == "op" and token.value in _BINDING


def second_reading(reading: Reading, *, capitals: bool) -> Reading | None:
    """`5 m`, `12 m/s`, `3 kg m^2`: a number and letters that spell a unit; the other reading of a product.

    `capitals`: also one capital letter alone (`12 J`), which is a unit only beside another unit.
    """
    tokens = reading.tokens
    start = next((i for i, token in enumerate(tokens) if i and token.kind in ("let", "run")), 0)
    if not start or not tokens[start].spaced or len(tokens) - start > MAX_TOKENS:
        return None
    if tokens[start - 1].kind not in ("num", "val") and tokens[start - 1].value not in ("}", ")"):
        return None
    if any(token.kind not in ("num", "val", "op", "cmd", "money") for token in tokens[:start]):
        return None
    upright = [token._replace(kind="word") if token.kind in ("let", "run") else token for token in tokens[start:]]
    if not _is_unit_symbol(tokens[start:], upright, capitals=capitals):
        return None
    try:
        tree = parse([*tokens[:start], *upright])
        return Reading(reading.text, (*tokens[:start], *upright), value_of(tree), tree)
    except Unparsed:
        return None


def _is_unit_symbol(italic: tuple[Token, ...], upright: list[Token], *, capitals: bool) -> bool:
    """Whether letters spell known units only; one letter alone must be a unit that is written so."""
    phrase = unit_phrase(upright)
    names = [token.value for token in upright if token.kind == "word"]
    if phrase is None or any(name not in units.CANONICAL for name in names):
        return False
    return (
        len(italic) > 1
        or italic[0].kind == "run"
        or names[0] in units.ITALIC_UNITS
        or (capitals and names[0] in units.CAPITALS)
    )


def has_symbols(value: Value) -> bool:
    """Whether a value holds free symbols."""
    if isinstance(value, One):
        return bool(value.scalar.node.free)
    if isinstance(value, (Measured, Named)):
        return has_symbols(value.value)
    return not isinstance(value, (Text, Members))


def holds_undefined(value: Value) -> bool:
    """Whether a constant without a value, such as 0/0, stands in it."""
    if isinstance(value, One):
        return value.scalar.undefined
    if isinstance(value, (Measured, Named)):
        return holds_undefined(value.value)
    if isinstance(value, (Members, Ordered)):
        return any(holds_undefined(item) for item in value.items)
    return False
