"""From text to tokens: Unicode, style, spacing and number forms are settled here, in one pass.

A token is `(kind, value, spaced)`; `spaced` says that white space stood before it. Kinds: `num` (digits
as written), `val` (an exact value written in another number form), `let` (one letter or a Greek name),
`run` (several letters in mathematics), `word` (letters in `\\text`), `func`, `const`, `joint` (and, or),
`cmd` (a command with arguments), `acc` (an accent), `name` (angle, triangle), `begin`, `end`, `row`,
`money`, and `op` (everything else). Two texts with the same tokens are the same text.
Not covered: user macros, alignment tricks, `\\verb`.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from assay.verifiers.extract.boxes import closing_brace
from assay.verifiers.math.syntax import tables
from assay.verifiers.math.syntax.nodes import Unparsed
from assay.verifiers.math.syntax.numerals import MAX_DIGITS, mixed, repeating, scientific
from assay.verifiers.math.syntax.units import CURRENCY_SIGNS

MAX_TEXT = 20_000
"""Longer answers (code points) are compared as text only."""
MAX_TOKENS = 5_000
"""Longer answers are compared as text only: reading is linear, but each token costs tens of microseconds."""
_MAX_NESTED_TEXT = 12


class Token(NamedTuple):
    """One token."""

    kind: str
    value: str | Fraction
    spaced: bool


_THOUSANDS = r"(?<!\d,)(?<!\d)[1-9]\d{0,2}(?:(?:%s)\d{3})+(?!,?\d)(?:\.\d+)?"
_BODY = r"""
  (?P<rep>\d*\.\d*(?:\\overline|\\bar)\s*\{\s*\d+\s*\}|\d*\.\d*\\dot\s*(?:\{\d\}|\d)(?:\d*\\dot\s*(?:\{\d\}|\d))?)
 |(?P<sci>(?:\d+(?:\.\d*)?|\.\d+)[eE][+-]?\d{1,6}(?![A-Za-z\d.]))
 |(?P<mixed>\d+(?:[ ]+|(?:[ ~]|\\\ )+(?!\d{3}/))\d+/\d+(?![\d.]))
 |(?P<thou>THOUSANDS)
 |(?P<num>\d+\.\d+|\d+\.(?!\.)|\d+|\.\d+)
 |(?P<clock>[AaPp]\.\s?[Mm]\.)
 |(?P<run>[A-Za-z]+)
 |(?P<row>\\\\(?:\s*\[[\d.]*[a-z]*\])?)
 |(?P<cmd>\\[A-Za-z]+\*?|\\.)
 |(?P<ws>[\s~]+|\\\Z)
 |(?P<op>\*\*|<=|=<|>=|!=|==|:=|=>|->|<>|\.\.\.|[-+*/^_!=<>(){}\[\]|,;:&'%.?"@\#`])
 |(?P<money>[$€£¥₩₹¢])
 |(?P<wide>[^\W\d_]+)
"""
_OUTSIDE = re.compile(_BODY.replace("THOUSANDS", _THOUSANDS % r"\{,\}|,\\!\s*|\\,\s*|\\\ \s*|,|[ ~]"), re.X)
_INSIDE = re.compile(_BODY.replace("THOUSANDS", _THOUSANDS % r"\\,\s*|\\\ \s*"), re.X)
_NOT_DIGITS = re.compile(r"[^\d.]")
_SUPER = re.compile("[" + "".join(tables.SUPERSCRIPTS) + "]+")
_SUB = re.compile("[" + "".join(tables.SUBSCRIPTS) + "]+")
_DELIMITERS = frozenset((r"\(", r"\)", r"\[", r"\]"))
_NULL_DELIMITER = re.compile(r"\s*(?:\.|(\\?[|<>]|\\vert))")
_GROUP_NAME = re.compile(r"\s*\{\s*([A-Za-z]+\*?)\s*\}")
_COLUMNS = re.compile(r"\s*(?:\[[a-z]\])?\s*\{[^{}]*\}")
_BLACKBOARD = re.compile(r"\s*(?:\{\s*([A-Z])\s*\}|([A-Z]))")
_MONEY = {"textdollar": "$", "euro": "€", "texteuro": "€", "pounds": "£", "textsterling": "£", "textyen": "¥"}
_WIDE_PIECES = re.compile("(" + "|".join(("或者", "或", "和", "及", "与", *tables.WIDE_NUMBERS)) + ")")
_UNIT_FUNCTIONS = frozenset(("min", "sec", "lb"))
"""Names of functions that are units behind a number."""
_MICRO = re.compile(r"[μµ](?=[mgsLlFAVWHJ](?![a-zA-Z]))")
_ENGLISH = frozenset(("cost", "costs", "sect", "tang", "logs", "seco", "mind", "minx", "mine"))


def fold_unicode(text: str) -> str:
    """`text` with Unicode signs as the commands they equal."""
    if text.isascii():
        return text
    text = _MICRO.sub("u", text)
    text = _SUPER.sub(lambda m: "^{" + "".join(tables.SUPERSCRIPTS[c] for c in m.group()) + "}", text)
    text = _SUB.sub(lambda m: "_{" + "".join(tables.SUBSCRIPTS[c] for c in m.group()) + "}", text)
    text = text.translate(tables.UNICODE)
    return text if text.isascii() else "".join(c if c < "\x80" or c in CURRENCY_SIGNS else _fold(c) for c in text)


def _fold(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain.isascii() else character


def _dollars(text: str) -> str:
    """Drop math delimiters; a single `$` before a digit is a currency, as `\\$` is."""
    if "$" not in text:
        return text
    text = text.replace("\x00", " ").replace(r"\$", "\x00")
    if text.count("$") % 2:
        text = re.sub(r"\$(?=\s*[\d.])", "\x00", text, count=1)
    return text.replace("$", " ").replace("\x00", "$")


def tokenise(text: str) -> list[Token]:
    """The tokens of `text`. Raises `Unparsed` at a sign that no table knows."""
    if len(text) > MAX_TEXT:
        raise Unparsed("too long")
    scanner = _Scanner()
    scanner.scan(_dollars(fold_unicode(text)), textual=False)
    return _spoken_signs(scanner.tokens) if "n" in text or "N" in text else scanner.tokens


def _spoken_signs(tokens: list[Token]) -> list[Token]:
    """`negative 5` and `minus 5` as a sign before its number, where a value can begin."""
    out: list[Token] = []
    for index, token in enumerate(tokens):
        spoken = token.kind in ("word", "run") and str(token.value).lower() in ("negative", "minus")
        followed = spoken and index + 1 < len(tokens) and _begins_number(tokens[index + 1])
        begins = not out or out[-1].kind == "joint" or out[-1].value in (",", "=", "(", "[", "{(")
        out.append(Token("op", "-", token.spaced) if followed and begins else token)
    return out


def _begins_number(token: Token) -> bool:
    return token.kind in ("num", "val") or (token.kind == "cmd" and token.value in ("frac", "sqrt"))


class _Scanner:
    """State of one tokenisation."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.depth = 0
        self.nested = 0
        self.spaced = False

    def put(self, kind: str, value: str | Fraction) -> None:
        if len(self.tokens) >= MAX_TOKENS:
            raise Unparsed("too many tokens")
        self.tokens.append(Token(kind, value, self.spaced))
        self.spaced = False

    def scan(self, text: str, *, textual: bool) -> None:
        position, size = 0, len(text)
        while position < size:
            pattern = _INSIDE if self.depth else _OUTSIDE
            match = pattern.match(text, position)
            if match is None:
                raise Unparsed("sign that is not mathematics")
            kind = match.lastgroup or ""
            position = match.end()
            if kind == "cmd":
                position = self.command(text, match, textual=textual)
            elif kind == "ws":
                self.spaced = True
            elif kind == "run":
                self.letters(match.group(), textual=textual)
            elif kind == "op":
                self.sign(match.group())
            else:
                self.other(kind, match.group())

    def sign(self, sign: str) -> None:
        sign = tables.ASCII_SIGNS.get(sign, sign)
        if sign in "([":
            self.depth += 1
        elif sign in ")]" and self.depth:
            self.depth -= 1
        self.put("op", sign)

    def other(self, kind: str, text: str) -> None:
        if kind == "num":
            if len(text) > MAX_DIGITS:
                raise Unparsed("number too long")
            self.put("num", text)
        elif kind == "thou":
            self.put("num", _NOT_DIGITS.sub("", text))
        elif kind == "sci":
            self.put("val", scientific(text))
        elif kind == "mixed":
            self.put("val", mixed(text))
        elif kind == "rep":
            self.put("val", repeating(text))
        elif kind == "clock":
            self.put("word", text[0].lower() + "m")
        elif kind == "wide":
            self.wide(text)
        else:
            self.put(kind, text if kind == "money" else "")

    def letters(self, run: str, *, textual: bool) -> None:
        joint = tables.JOINTS.get(run)
        if run in tables.ORDINALS and not self.spaced and self.tokens and self.tokens[-1].kind == "num":
            return
        if joint and len(run) > 1:
            self.put("joint", joint)
        elif run in _UNIT_FUNCTIONS and self.tokens and self.tokens[-1].kind in ("num", "val"):
            self.put("word" if textual else "run", run)
        elif run in tables.ASCII_CONSTANTS:
            self.put("const", tables.ASCII_CONSTANTS[run])
        elif textual:
            self.put("word", run)
        elif run in tables.FUNCTIONS:
            self.put("func", tables.FUNCTIONS[run])
        elif run in tables.ASCII_GREEK or len(run) == 1:
            self.put("let", run)
        else:
            self.run(run)

    def run(self, run: str) -> None:
        """Letters in mathematics: `sinx` is a function and its argument."""
        for cut in (1, 2):
            head = run[:-cut]
            if (
                head in tables.FUNCTIONS
                and len(head) > 1
                and run not in _ENGLISH
                and run[-cut:] in ("x", "y", "t", "A", "B", "pi")
            ):
                self.put("func", tables.FUNCTIONS[head])
                self.letters(run[-cut:], textual=False)
                return
        self.put("run", run)

    def wide(self, run: str) -> None:
        """Letters beyond ASCII: `3或5`, `12元`."""
        for piece in _WIDE_PIECES.split(run):
            if piece:
                joint = tables.JOINTS.get(piece)
                self.put("joint" if joint else "word", joint or piece)

    def command(self, text: str, match: re.Match[str], *, textual: bool) -> int:
        name, end = match.group(), match.end()
        if name in tables.SPACING:
            self.spaced = True
            return self.delimiter(text, name, end)
        if name in tables.TEXTUAL:
            return self.text_group(text, name, end)
        if name in tables.TRANSPARENT or name in _DELIMITERS:
            return end
        if name in tables.ARGUMENT_DROPPED:
            return _after_group(text, end)
        if name == r"\ ":
            self.spaced = True
            return end
        sign = tables.SIGNS.get(name)
        if sign is not None:
            self.named_sign(sign)
            return end
        if name in (r"\begin", r"\end"):
            return self.environment(text, name[1:], end)
        return self.named(text, name[1:], end)

    def named_sign(self, sign: str) -> None:
        if sign in ("and", "or"):
            self.put("joint", sign)
        elif sign:
            if sign in ("{(", "<("):
                self.depth += 1
            elif sign in (")}", ")>") and self.depth:
                self.depth -= 1
            self.put("op", sign)

    def delimiter(self, text: str, name: str, end: int) -> int:
        """After `\\left` and kin: a null delimiter is dropped, bars and angles know their side."""
        side = {"\\left": "(", "\\right": ")"}.get(name) or {"l": "(", "r": ")"}.get(name[-1])
        if not side or name in (r"\rm", r"\par") or not name.startswith((r"\left", r"\right", r"\big", r"\Big")):
            return end
        match = _NULL_DELIMITER.match(text, end)
        if match is None:
            return end
        sign = (match.group(1) or "").lstrip("\\")
        if sign == "<" or sign == ">":
            self.named_sign("<(" if side == "(" else ")>")
        elif sign:
            self.put("op", ("|" if match.group(1) != r"\|" else "||") + side)
        return match.end()

    def text_group(self, text: str, name: str, end: int) -> int:
        start = end
        while start < len(text) and text[start].isspace():
            start += 1
        close = closing_brace(text, start) if text[start : start + 1] == "{" else -1
        if close < 0:
            return end
        content = text[start + 1 : close]
        plain = content.strip(" ~")
        self.spaced = self.spaced or content[:1] in " ~"
        if name in (r"\mathrm", r"\operatorname", r"\operatorname*", r"\textrm", r"\text") and self.upright(plain):
            return close + 1
        self.nested += 1
        if self.nested > _MAX_NESTED_TEXT:
            raise Unparsed("text nested too deep")
        self.scan(content, textual=True)
        self.nested -= 1
        self.spaced = self.spaced or content[-1:] in " ~"
        return close + 1

    def upright(self, content: str) -> bool:
        """Upright names: functions and the constants i and e."""
        if content in tables.FUNCTIONS and content not in _UNIT_FUNCTIONS:
            self.put("func", tables.FUNCTIONS[content])
        elif content in ("i", "e"):
            self.put("const", content)
        elif content == "d":
            self.put("let", "d")
        else:
            return False
        return True

    def environment(self, text: str, kind: str, end: int) -> int:
        match = _GROUP_NAME.match(text, end)
        if match is None:
            raise Unparsed("environment without a name")
        name = match.group(1).rstrip("*")
        end = match.end()
        if kind == "begin" and name in ("array", "tabular"):
            columns = _COLUMNS.match(text, end)
            end = columns.end() if columns else end
        self.put(kind, name)
        return end

    def named(self, text: str, name: str, end: int) -> int:
        """A command by its name: what `_NAMED` says, a blackboard letter, or a command with arguments."""
        if name in ("mathbb", "Bbb", "mathds"):
            match = _BLACKBOARD.match(text, end)
            if match is None:
                raise Unparsed("blackboard letter")
            self.put("const", match.group(1) or match.group(2))
            return match.end()
        self.put(*_NAMED.get(name, ("cmd", name)))
        return end


_SAME_COMMAND = {"dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom"}
_SETS = {"varnothing": "empty", "emptyset": "empty", "oslash": "empty", "R": "R", "reals": "R", "Reals": "R"}
_NAMED: dict[str, tuple[str, str]] = {
    **{name: ("cmd", same) for name, same in _SAME_COMMAND.items()},
    **{name: ("const", value) for name, value in _SETS.items()},
    **{name: ("const", name) for name in ("Z", "N", "Q")},
    **{name: ("money", sign) for name, sign in _MONEY.items()},
    **{name: ("name", sign) for name, sign in tables.NAMING.items()},
    **{name: ("acc", accent) for name, accent in tables.ACCENTS.items()},
    **{name: ("func", head) for name, head in tables.FUNCTIONS.items() if name not in ("sqrt", "binom")},
    "pi": ("const", "pi"),
    "infty": ("const", "oo"),
    **{name: ("let", tables.SAME_LETTER.get(name, name)) for name in tables.GREEK},
}
"""Name of a command -> kind and value of its token. Later lines win over earlier ones."""


def _after_group(text: str, end: int) -> int:
    while end < len(text) and text[end].isspace():
        end += 1
    if text[end : end + 1] != "{":
        return end
    close = closing_brace(text, end)
    return close + 1 if close >= 0 else end
