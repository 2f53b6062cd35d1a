"""Rewrites of a published answer that keep its value, and mutants that change it.

Both work on the text, with a small bracket-aware splitter of their own: they share no code with the
verifier. A rewrite or mutant that does not apply to an answer yields nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction

_INTEGER = re.compile(r"-?\d+")
_DECIMAL = re.compile(r"-?\d+\.\d+")
_SIMPLE_FRACTION = re.compile(r"\\[dt]?frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}")
_WORDS = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}|\\(?:text|mathrm|operatorname|begin|mbox)")
_RELATION = re.compile(
    r"[=<>~]|\\(?:le|ge|ne|lt|gt|in|approx|sim|mid|equiv|to|leq|geq|neq|leqslant|geqslant)(?![A-Za-z])"
)
_NUMBER = re.compile(r"(?<![\d.,])\d+(?![\d,]|\.\d)")
_OPEN, _CLOSE = "([{", ")]}"


def bare(gold: str) -> str:
    """The answer without the dollars around it and a final stop."""
    text = gold.strip()
    while text.endswith(".") and not text.endswith(".."):
        text = text[:-1].strip()
    inner = text[1:-1] if text.startswith("$") and text.endswith("$") and text.count("$") == 2 else text
    return inner.replace("\\quad", " ").strip()


def is_mathematics(gold: str) -> bool:
    """Whether an answer is one piece of mathematics without words: what rewrites apply to."""
    text = bare(gold)
    return "$" not in text and "\n" not in text and not _WORDS.search(text) and "@" not in text and "..." not in text


def split(text: str, separator: str) -> list[str]:
    """`text` split at a separator outside all brackets."""
    pieces, depth, start, index = [], 0, 0, 0
    while index < len(text):
        if text[index] == "\\" and index + 1 < len(text) and text[index + 1] in "{}":
            depth += 1 if text[index + 1] == "{" else -1
            index += 2
            continue
        depth += (text[index] in _OPEN) - (text[index] in _CLOSE)
        if not depth and text.startswith(separator, index):
            pieces.append(text[start:index])
            start = index + len(separator)
        index += 1
    return [*pieces, text[start:]]


def is_list(text: str) -> bool:
    return len(split(text, ",")) > 1


def is_scalar(gold: str) -> bool:
    """Whether an answer is one expression: no list, relation, set or tuple."""
    text = bare(gold)
    if re.fullmatch(r"[A-Z]|.*[-+]\s*|.*prime.*", text):  # a choice, a published misprint, feet and inches
        return False
    if not is_mathematics(gold) or _RELATION.search(text) or ";" in text or ":" in text or "\\{" in text:
        return False
    if any(
        word in text
        for word in ("cup", "cap", "pm", "mp", "infty", "setminus", "emptyset", "varnothing", "\\ldots", "cdots")
    ):
        return False
    return not re.search(r"[,&@#?']|\\mathbb|\\\\|\^\{?\\circ", text)


def is_number(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text) or _DECIMAL.fullmatch(text))


# --- rewrites ------------------------------------------------------------------------------------------
def styled(gold: str) -> str | None:
    """Another LaTeX style: display fractions, sizing, spacing."""
    text = bare(gold)
    if not is_mathematics(gold):
        return None
    text = re.sub(r"\\frac(?![A-Za-z])", r"\\dfrac", text)
    text = re.sub(r"\s*\+\s*", r" \\, + \\; ", text)
    return "\\displaystyle " + text + "\\,"


def delimited(gold: str) -> str | None:
    """Dollars, or inline delimiters, and a final stop."""
    return f"$ {bare(gold)} $." if is_mathematics(gold) else None


def doubled_fraction(gold: str) -> str | None:
    """A simple fraction with both numbers doubled, or with a slash."""
    text = bare(gold)
    match = _SIMPLE_FRACTION.search(text)
    if match is None or not is_mathematics(gold) or re.search(r"\d\s*$|_\{?$|\^\{?$", text[: match.start()]):
        return None
    return text[: match.start()] + f"\\frac{{{2 * int(match[1])}}}{{{2 * int(match[2])}}}" + text[match.end() :]


def slashed(gold: str) -> str | None:
    """A fraction of two integers with a slash."""
    text = bare(gold)
    match = re.fullmatch(rf"(-?)\s*{_SIMPLE_FRACTION.pattern}", text)
    return f"{match[1]}{match[2]}/{match[3]}" if match else None


def decimal(gold: str) -> str | None:
    """An exact fraction as a decimal, an integer with a point."""
    text = bare(gold)
    match = re.fullmatch(rf"(-?)\s*{_SIMPLE_FRACTION.pattern}", text)
    if _INTEGER.fullmatch(text) and len(text) < 15:
        return f"{text}.0"
    if match is None:
        return None
    value = Fraction(int(match[2]), int(match[3]))
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1 or value.denominator > 10**6:
        return None
    places = next(p for p in range(20) if (value * 10**p).denominator == 1)
    digits = str((value * 10**places).numerator).rjust(places + 1, "0")
    return (
        f"{match[1]}{digits[: len(digits) - places]}.{digits[len(digits) - places :]}"
        if places
        else f"{match[1]}{digits}"
    )


def thousands(gold: str) -> str | None:
    text = bare(gold)
    return f"{int(text):,}" if _INTEGER.fullmatch(text) and abs(int(text)) >= 1000 else None


def reordered_sum(gold: str) -> str | None:
    """`a + b` as `b + a`."""
    text = bare(gold)
    if not is_scalar(gold):
        return None
    terms = split(text, "+") if "|" not in text else []
    if len(terms) < 2 or not all(term.strip() for term in terms) or terms[0].strip().startswith("-"):
        return None
    if any(re.match(r"\s*[-*/^]|.*[(^_/*]\s*$", term) for term in terms):
        return None
    if any("-" in term and term is not terms[-1] for term in terms[:-1]):
        return None
    first, rest = terms[0], terms[1:]
    return " + ".join([*rest, first]) if "-" not in "".join(rest) else None


def reordered_list(gold: str) -> str | None:
    """Members of a list or set in another order."""
    text = bare(gold)
    if not is_mathematics(gold) or "ldots" in text or _RELATION.search(text):
        return None
    if text.startswith("\\{") and text.endswith("\\}") and split(text[2:-2], ",") != [text[2:-2]]:
        return "\\{" + ", ".join(reversed([m.strip() for m in split(text[2:-2], ",")])) + "\\}"
    members = [member.strip() for member in split(text, ",")]
    if len(members) < 2 or not all(members) or re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        return None
    return ", ".join(reversed(members))


def named(gold: str) -> str | None:
    """A variable before a value."""
    return f"Q = {bare(gold)}" if is_scalar(gold) and "Q" not in gold else None


def announced(gold: str) -> str | None:
    return f"\\text{{The answer is }} {bare(gold)}" if is_scalar(gold) else None


def with_unit(gold: str) -> str | None:
    """A unit behind a number."""
    text = bare(gold)
    return f"{text} \\text{{ cm}}" if is_number(text) else None


def bracketed(gold: str) -> str | None:
    """Redundant brackets."""
    return f"\\left( {bare(gold)} \\right)" if is_scalar(gold) else None


def multiplied_out(gold: str) -> str | None:
    """Twice the half of it."""
    return f"2\\cdot\\frac{{{bare(gold)}}}{{2}}" if is_scalar(gold) else None


def shifted(gold: str) -> str | None:
    """One more, and one less."""
    return f"1 + {bare(gold)} - 1" if is_scalar(gold) and not bare(gold).startswith(("-", "+")) else None


REWRITES: tuple[Callable[[str], str | None], ...] = (
    styled,
    doubled_fraction,
    slashed,
    decimal,
    thousands,
    reordered_sum,
    reordered_list,
    named,
    with_unit,
    multiplied_out,
    shifted,
    bracketed,
    announced,
    delimited,
)


# --- mutants -------------------------------------------------------------------------------------------
def other_digit(gold: str, which: int = 0) -> str | None:
    """One number is one more than it was."""
    text = bare(gold)
    numbers = list(_NUMBER.finditer(text))
    if not numbers or "$" in text:
        return None
    match = numbers[which % len(numbers)]
    return text[: match.start()] + str(int(match.group()) + 1) + text[match.end() :]


def other_last_digit(gold: str) -> str | None:
    return other_digit(gold, -1)


def negative(gold: str) -> str | None:
    """The opposite of a value that is not 0."""
    text = bare(gold)
    if not is_scalar(gold) or re.fullmatch(r"-?0+(\.0+)?", text):
        return None
    return f"-({text})"


def plus_one(gold: str) -> str | None:
    return f"{bare(gold)} + 1" if is_scalar(gold) and "\\%" not in gold else None


def doubled(gold: str) -> str | None:
    text = bare(gold)
    if not is_scalar(gold) or re.fullmatch(r"-?0+(\.0+)?", text):
        return None
    return f"2({text})"


def another_member(gold: str) -> str | None:
    """A member more."""
    return f"{bare(gold)}, 987654" if is_mathematics(gold) and bare(gold) else None


def member_less(gold: str) -> str | None:
    """A member less."""
    text = bare(gold)
    members = split(text, ",")
    if not is_mathematics(gold) or len(members) < 3 or "ldots" in text or re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        return None
    return ",".join(members[:-1]) if members[-1].strip() not in [m.strip() for m in members[:-1]] else None


def swapped_pair(gold: str) -> str | None:
    """The coordinates of a pair, swapped."""
    text = bare(gold).replace("\\left", "").replace("\\right", "")
    if not is_mathematics(gold) or not (text.startswith("(") and text.endswith(")")) or split(text, ",") != [text]:
        return None
    items = [item.strip() for item in split(text[1:-1], ",")]
    return f"({items[1]}, {items[0]})" if len(items) == 2 and items[0] != items[1] else None


def other_bracket(gold: str) -> str | None:
    """An open end that is closed, or the other way."""
    text = bare(gold).replace("\\left", "").replace("\\right", "")
    if not is_mathematics(gold) or _RELATION.search(text) or split(text, ",") != [text] or "infty)" in text:
        return None
    if text.endswith("]") and text[0] in "([":
        return text[:-1] + ")"
    return None


def bound_instead(gold: str) -> str | None:
    """A bound instead of the value."""
    return f"x > {bare(gold)}" if is_scalar(gold) and is_number(bare(gold)) else None


def denied(gold: str) -> str | None:
    return f"\\text{{not }} {bare(gold)}" if is_scalar(gold) else None


def hedged(gold: str) -> str | None:
    return f"{bare(gold)} \\text{{ or }} 987654" if is_scalar(gold) else None


MUTANTS: tuple[Callable[[str], str | None], ...] = (
    other_digit,
    member_less,
    swapped_pair,
    other_bracket,
    other_last_digit,
    negative,
    plus_one,
    doubled,
    another_member,
    bound_instead,
    hedged,
    denied,
)


def applied(gold: str, kinds: tuple[Callable[[str], str | None], ...], count: int = 5) -> Iterator[tuple[str, str]]:
    """The first `count` texts of `kinds` that apply to `gold` and differ from it, with the kind's name."""
    seen = {bare(gold)}
    for kind in kinds:
        text = kind(gold)
        if text is not None and text not in seen:
            seen.add(text)
            yield kind.__name__, text
            if len(seen) > count:
                return
