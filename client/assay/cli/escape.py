"""Make untrusted text safe for a terminal: control characters (ECMA-48, bidi overrides) are shown as escapes."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def escape(text: str, *, limit: int | None = None) -> str:
    """Return `text` with control characters as escapes, cut after `limit` characters; line feeds are kept."""
    cut = limit is not None and len(text) > limit
    return _UNSAFE.sub(_shown, text[:limit] if cut else text) + ("…" if cut else "")


def one_line(text: str, *, limit: int = 200) -> str:
    """Return `text` as `escape` does, with line feeds as escapes too."""
    return escape(text, limit=limit).replace("\n", "\\n")
