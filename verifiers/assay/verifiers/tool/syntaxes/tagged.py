"""Calls as JSON objects, or arrays of them, behind a mark.

    <|tool_call|>[{"name", "arguments"}]<|/tool_call|>                  Phi-4-mini; Granite writes no closing mark
    functools[{"name", "arguments"}]                                    Phi-4-mini, as vLLM's parser reads it
    <tool_calls>[{"name", "arguments"}]</tool_calls>                    Jamba
    <|action_start|><|plugin|>{"name", "parameters"}<|action_end|>      InternLM2
    <function_call>{"name", "arguments"}</function_call>                many fine-tuned models: `tagged_json`
    <function=f>{}</function>                                           Functionary, Llama 3.1's custom tools

`tagged_json` reads any tag of `_GENERIC`, and a code fence of that name. A closing mark ends generation and is often
cut off with it, so the end of the text, or another special token, may replace it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading
from assay.verifiers.tool.syntaxes.objects import call_of

_GENERIC = "function_calls?|functioncall|function|tool_use|tool_invocation|tool|api_call|action|call"  # longest first
_JSON = r"\s*+(?=\{|\[\s*+\{|\[\s*+\])"
MARKS = {
    "granite": re.compile(r"<\|(?P<pipe>tool_call)\|>|<(?P<tag>function_call)>|<tool_call>(?=\s*+\[)"),
    "phi4": re.compile(r"<\|(?P<pipe>tool_call)\|>|\bfunctools(?=\[)"),
    "jamba": re.compile(r"<(?P<tag>tool_calls)>"),
    "internlm2": re.compile(r"<\|action_start\|>(?:\s*+<\|plugin\|>)?"),
    "tagged_json": re.compile(
        rf"<(?P<tag>{_GENERIC})>{_JSON}|<\|(?P<pipe>{_GENERIC})\|>{_JSON}"
        rf"|<function=(?P<name>[^<>\n]{{0,200}})>\s*+(?=\{{)"
        rf"|(?P<fence>```)(?:{_GENERIC}|tool_calls?)[ \t]*+\r?\n{_JSON}"
    ),
}
"""The mark of each syntax. A named group says how the call ends."""
_ENDS = re.compile(r"\s*+(?:\Z|<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id|end)\|>)")
_ACTION = "<|action_end|>"


def granite(reading: Reading) -> None:
    """Read every array or object behind a mark of Granite."""
    _marked(reading, MARKS["granite"])


def phi4(reading: Reading) -> None:
    """Read every array or object behind a mark of Phi-4-mini."""
    _marked(reading, MARKS["phi4"])


def jamba(reading: Reading) -> None:
    """Read every array between `<tool_calls>` tags."""
    _marked(reading, MARKS["jamba"])


def internlm2(reading: Reading) -> None:
    """Read every action; an action that is not a plugin's is a failed attempt."""
    _marked(reading, MARKS["internlm2"])


def tagged_json(reading: Reading) -> None:
    """Read JSON in every tag that names a call."""
    _marked(reading, MARKS["tagged_json"])


def _marked(reading: Reading, mark: re.Pattern[str]) -> None:
    while found := mark.search(reading.text, reading.at):
        reading.at = found.end()
        try:
            value = reading.json(until=_closing(found) or "")
            _close(reading, _closing(found))
        except Fault as fault:
            reading.at = max(reading.at, found.end())
            reading.fail(fault.reason, found.start())
            continue
        _keep(reading, value, found)


def _closing(mark: re.Match[str]) -> str | None:
    groups = mark.groupdict()
    if groups.get("tag"):
        return f"</{groups['tag']}>"
    if groups.get("pipe"):
        return f"<|/{groups['pipe']}|>"
    if groups.get("name") is not None:
        return "</function>"
    if groups.get("fence"):
        return "```"
    return _ACTION if mark[0].startswith("<|action") else None


def _close(reading: Reading, closing: str | None) -> None:
    """Move past the closing mark, or stop where one was cut off. Raises `Fault`."""
    if closing is None:
        return
    end = reading.at
    reading.skip_space()
    if reading.take(closing):
        return
    reading.at = end
    if closing.startswith("<|/"):  # Granite and some templates of Phi write no closing mark
        return
    if not _ENDS.match(reading.text, end):
        raise Fault("markup")


def _keep(reading: Reading, value: Any, mark: re.Match[str]) -> None:
    """Record the calls in a value: an object, or an array that is not empty."""
    name = mark.groupdict().get("name")
    values = value if isinstance(value, list) and name is None else [value]
    if not values:
        reading.fail("markup", mark.start())
    for one in values:
        reading.attempt(_reader(reading, one, mark.start(), name))


def _reader(reading: Reading, value: Any, start: int, name: str | None) -> Callable[[], Attempt]:
    if name is not None:
        return lambda: reading.call(name.strip(), value, start)
    return lambda: call_of(reading, value, start, _key(value))


def _key(value: Any) -> str:
    return "parameters" if isinstance(value, dict) and "parameters" in value else "arguments"
