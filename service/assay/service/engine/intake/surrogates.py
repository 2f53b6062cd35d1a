r"""Replace lone surrogates in a JSON body: `\ud800` without a low surrogate after it encodes no character.

A strict parser refuses the whole body for one of them. A completion can hold one, and the other items of the request
must still be scored: each is replaced by `\ufffd`, which has the same length, and its offset is reported.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


def replace_lone(body: bytes) -> tuple[bytes, list[int]]:
    """Return the body with each lone surrogate escape replaced, and their offsets. Linear time."""
    patched, places = bytearray(body), []
    pending: tuple[int, int] | None = None  # (start, end) of a high surrogate that waits for its low one
    for match in _ESCAPE.finditer(body):
        code = int(match[1], 16) if match[1] else 0
        if pending and not (0xDC00 <= code <= 0xDFFF and match.start() == pending[1]):
            places.append(pending[0])
            pending = None
        if pending:
            pending = None
        elif 0xD800 <= code <= 0xDBFF:
            pending = match.span()
        elif 0xDC00 <= code <= 0xDFFF:
            places.append(match.start())
    if pending:
        places.append(pending[0])
    for place in places:
        patched[place : place + 6] = rb"\ufffd"
    return bytes(patched), places
