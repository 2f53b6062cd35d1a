r"""Replace lone surrogates in a JSON body: `\ud800` without a low surrogate after it encodes no character.

A strict parser refuses the whole body for one of them. A completion can hold one, and the other items of the request
must still be scored: each is replaced by `\ufffd`, which has the same length. All passes over the body are loops of the
regular expression engine, not of Python: a body may hold a million.
"""

from __future__ import annotations

import re

_HEX = rb"[0-9a-fA-F]{2}"
_HIGH, _LOW = rb"\\u[dD][89abAB]" + _HEX, rb"\\u[dD][c-fC-F]" + _HEX
_LONE = re.compile(_HIGH + rb"(?!" + _LOW + rb")|(?<!" + _HIGH + rb")" + _LOW)
_BACKSLASH, _STAND_IN = rb"\\", b"\0\0"
"""An escaped backslash, and what stands for it meanwhile: bytes that no JSON text holds."""


def replace_lone(body: bytes) -> bytes:
    """Return the body with each lone surrogate escape replaced; a body that is no JSON may come back as it is."""
    if b"\0" in body:
        return body
    plain = body.replace(_BACKSLASH, _STAND_IN)  # so that each backslash left begins an escape
    return _LONE.sub(rb"\\ufffd", plain).replace(_STAND_IN, _BACKSLASH)
