"""Labels of function form in front of a value: `P(A\\mid B)`, `\\mathbb E[X]`, `(f\\circ g)(2)`, `\\dim V`.

Only the first side of an equality is looked at. `x(x + 1)` is a product and no label: a name whose brackets may hold
anything is in a table.
"""

from __future__ import annotations

from assay.verifiers.extract.found import words
from assay.verifiers.math.syntax.tokens import Token

_ANY_CONTENT = words(
    "P Pr E V Var Cov Corr SD Std Cor corr cov var Prob prob Area area Vol Volume Perimeter Res Tr tr rank deg dim ord"
)
"""Names that are functions whatever their brackets hold."""
_SET_CONTENT = words("n N p m")
"""Names that are functions where their brackets hold sets, events or relations."""
_SET_SIGNS = frozenset(("cup", "cap", "setminus", "|", "|(", "|)", "<", ">", "<=", ">=", "=", "in", "!="))
_PREFIXED = words("dim deg ker rank tr Tr det ord E Var rk nullity null codim char")
"""Names that need no brackets: `dim V`."""
_LONGEST = 40


def read_label(tokens: list[Token]) -> str:
    """The label that the tokens of a side spell, in canonical form, or \"\"."""
    if not 2 <= len(tokens) <= _LONGEST:
        return ""
    if _is_function(tokens) or _is_composition(tokens) or _is_prefixed(tokens):
        return "".join(str(token.value) for token in tokens if token.value not in ("{", "}"))
    return ""


def _name(token: Token) -> str:
    return str(token.value) if token.kind in ("let", "word", "run", "const", "cmd", "func") else ""


def _is_function(tokens: list[Token]) -> bool:
    """A name of the tables, perhaps with a subscript, and one pair of brackets to the end."""
    name, index = _name(tokens[0]), 1
    if name not in _ANY_CONTENT and name not in _SET_CONTENT:
        return False
    if tokens[index].value == "_":
        index = _past_group(tokens, index + 1)
    if index >= len(tokens) or tokens[index].value not in ("(", "["):
        return False
    if _past_group(tokens, index) != len(tokens):
        return False
    inner = {str(token.value) for token in tokens[index + 1 : -1]}
    return bool(inner) and (name in _ANY_CONTENT or bool(inner & _SET_SIGNS))


def _is_composition(tokens: list[Token]) -> bool:
    """`(f \\circ g)(2)`: names of functions joined by a small circle, then an argument."""
    if tokens[0].value != "(":
        return False
    close = _past_group(tokens, 0)
    inner = tokens[1 : close - 1]
    joined = any(token.value == "circ" for token in inner)
    names = all(
        token.kind == "let" or token.value in ("circ", "^", "{", "}", "-", "'") or token.value == "1" for token in inner
    )
    called = close < len(tokens) and tokens[close].value == "(" and _past_group(tokens, close) == len(tokens)
    return joined and names and called


def _is_prefixed(tokens: list[Token]) -> bool:
    rest = tokens[1:]
    plain = all(token.kind in ("let", "num") or str(token.value) in "_{}()" for token in rest)
    return _name(tokens[0]) in _PREFIXED and len(rest) <= 4 and plain and any(token.kind == "let" for token in rest)


def _past_group(tokens: list[Token], index: int) -> int:
    """Past a bracket or group that starts at `index`; past one token where none does."""
    opening = {"(": ")", "[": "]", "{": "}"}.get(str(tokens[index].value)) if index < len(tokens) else None
    if opening is None:
        return index + 1
    depth = 0
    for at in range(index, len(tokens)):
        value = str(tokens[at].value)
        depth += (value in "([{" and bool(value)) - (value in ")]}" and bool(value))
        if not depth:
            return at + 1
    return len(tokens) + 1
