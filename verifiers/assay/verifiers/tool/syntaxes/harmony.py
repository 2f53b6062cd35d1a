"""Calls of gpt-oss: messages on the commentary channel addressed to a function.

    <|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>
    <|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>

The text may start inside a header, where the template stopped. A recipient on another channel is not a call. `<|call|>`
ends generation and is often cut off with it, so the end of the text may replace it.
"""

from __future__ import annotations

import re

from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading

_HEADER = re.compile(
    r"(?:(?:<\|start\|>assistant|\A)(?P<role>[^<]{0,200}))?<\|channel\|>(?P<channel>[^<]{0,200})"
    r"(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
)
_HEADER_END = re.compile(
    r"(?:(?:<\|start\|>assistant|\A)(?P<role>[^<]{0,200}))?<\|channel\|>(?P<channel>[^<]{0,200})"
    r"(?:<\|constrain\|>[^<]{0,40})?\Z"
)
_RECIPIENT = re.compile(r"\bto=(\S+)")
_FUNCTION = "functions."
_ENDS = ("<|call|>", "<|end|>", "<|start|>")


def harmony(reading: Reading) -> None:
    """Read every message on the commentary channel addressed to a function."""
    while found := _HEADER.search(reading.text, reading.at):
        name = _called(found)
        if name is None:
            reading.at = found.end()
            continue
        reading.at = found.start()
        if not reading.attempt(lambda found=found, name=name: _message(reading, found, name)):  # type: ignore[misc]
            reading.at = found.end()
    _cut_off(reading)


def _cut_off(reading: Reading) -> None:
    """Record a failed attempt if the text ends inside a header that already names a function."""
    found = _HEADER_END.search(reading.text, reading.at)
    if found and _called(found) is not None:
        reading.at = len(reading.text)
        reading.fail("unclosed", found.start())


def _called(header: re.Match[str]) -> str | None:
    """Return the function that a message is for, or None if it is not a call."""
    words = header["channel"].split()
    recipient = _RECIPIENT.search(f"{header['role'] or ''} {header['channel']}")
    if not words or words[0] != "commentary" or not recipient or not recipient[1].startswith(_FUNCTION):
        return None
    return recipient[1].removeprefix(_FUNCTION)


def _message(reading: Reading, header: re.Match[str], name: str) -> Attempt:
    reading.at = header.end()
    args = reading.json(until=_ENDS[0])
    reading.skip_space()
    if reading.at < len(reading.text) and not reading.text.startswith(_ENDS, reading.at):
        raise Fault("markup")
    reading.take(_ENDS[0])
    return reading.call(name, args, header.start())
