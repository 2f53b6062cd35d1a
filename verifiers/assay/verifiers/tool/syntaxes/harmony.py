"""Calls of gpt-oss: messages on the commentary channel addressed to a function.

    <|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>
    <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>

The text may start inside a header, where the template stopped. A message that is addressed to a function on another
channel, to another recipient, or that has no body is a failed attempt. `<|call|>` ends generation and is often cut off
with it, so the end of the text may replace it.
"""

from __future__ import annotations

import re

from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading

_HEADER = re.compile(
    r"(?:<\|start\|>assistant(?P<role>[^<]{0,200})|\A\s*+(?P<cut>to=[^\s<]{1,200})?\s*+)?<\|channel\|>(?P<channel>[^<]*+)"
    r"(?:<\|constrain\|>[^<]{0,40})?(?P<body><\|message\|>)?"
)
_RECIPIENT = re.compile(r"\bto=(\S+)")
_FUNCTION = "functions."
_ENDS = ("<|call|>", "<|end|>", "<|start|>")


def harmony(reading: Reading) -> None:
    """Read every message that is addressed to a recipient."""
    while found := _HEADER.search(reading.text, reading.at):
        recipient = _RECIPIENT.search(f"{found['role'] or found['cut'] or ''} {found['channel']}")
        reading.at = found.start() if recipient else found.end()
        if recipient and not reading.attempt(lambda found=found, to=recipient[1]: _message(reading, found, to)):  # type: ignore[misc]
            reading.at = found.end()


def _message(reading: Reading, header: re.Match[str], recipient: str) -> Attempt:
    reading.at = header.end()
    if header["body"] is None:
        raise Fault("unclosed" if reading.at >= len(reading.text) else "markup")
    if header["channel"].split()[:1] != ["commentary"] or not recipient.startswith(_FUNCTION):
        raise Fault("markup")
    args = reading.json(until=_ENDS[0])
    reading.skip_space()
    if reading.at < len(reading.text) and not reading.text.startswith(_ENDS, reading.at):
        raise Fault("markup")
    reading.take(_ENDS[0])
    return reading.call(recipient.removeprefix(_FUNCTION), args, header.start())
