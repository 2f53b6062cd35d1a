"""The row's prefix and the program as one text.

The prefix comes first, verbatim. Python allows `from __future__ import …` at the very start alone: those with which
a program starts are repeated before the prefix and blanked where they were, so that the lines keep their numbers
but for one. Not covered: one that stands behind several statements of the program (an error there anyway).
"""

from __future__ import annotations

import re

_HEADER = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_FUTURE = re.compile(
    r"from[ \t]+__future__[ \t]+import[ \t]+(?:\([\w\s,]*\)|[\w \t,]+)[ \t]*;?[ \t]*(?:#[^\n]*)?(?:\n|\Z)"
)
_TEXT = re.compile(
    r'[rRuU]?(?:"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\')[ \t]*(?:\n|\Z)', re.DOTALL
)


def joined(prefix: str, code: str, language: str) -> str:
    """The program's whole text."""
    if language != "python" or not prefix.strip() or "__future__" not in code:
        return prefix + code
    futures, kept, at = [], [], 0
    while at < len(code):
        future = _FUTURE.match(code, at)
        match = future or _HEADER.match(code, at) or _TEXT.match(code, at)
        if match is None or match.end() == at:
            break
        if future is not None:
            futures.append(" ".join(future.group().split("#")[0].split()).rstrip("; "))
        kept.append("\n" * match.group().count("\n") if future is not None else match.group())
        at = match.end()
    first = "; ".join(futures) + ("\n" if futures else "")
    return first + prefix + "".join(kept) + code[at:]
