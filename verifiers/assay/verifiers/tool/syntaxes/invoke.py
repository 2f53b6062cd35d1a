"""Calls as `invoke` elements in a section: DeepSeek V3.2 and V4 (DSML), and MiniMax M2.

    <｜DSML｜function_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="k" string="true">v</｜DSML｜parameter>
    </｜DSML｜invoke></｜DSML｜function_calls>                              V3.2; V4 names the section `tool_calls`
    <minimax:tool_call><invoke name="f"><parameter name="k">v</parameter></invoke></minimax:tool_call>

DSML says of each value whether it is a string; otherwise it is JSON. MiniMax's values are bare text, which `typed`
converts. A call outside a section is a failed attempt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from assay.verifiers.tool.attempts import Attempt, Fault
from assay.verifiers.tool.scanner import Reading, decoded
from assay.verifiers.tool.syntaxes.sections import sections
from assay.verifiers.tool.syntaxes.xml import value_before
from assay.verifiers.tool.typed import typed_value


@dataclass(frozen=True)
class Markup:
    """The elements of one family, whose names begin with `prefix`."""

    prefix: str
    parameter: re.Pattern[str]
    after: re.Pattern[str]

    @classmethod
    def of(cls, prefix: str) -> Markup:
        """Return the markup of a prefix."""
        mark = re.escape(prefix)
        return cls(
            prefix,
            re.compile(rf'\s*<{mark}parameter name="([^"<>\n]*)"(?:\s+string="(true|false)")?>'),
            re.compile(rf"</{mark}parameter>(?=\s*(?:<{mark}parameter name=|</{mark}invoke>))"),
        )

    def marks(self, section: str, close: str) -> tuple[str, str, str, str]:
        """Return the marks of a section and its calls."""
        return section, f'<{self.prefix}invoke name="', f"</{self.prefix}invoke>", close


_DSML, _PLAIN = Markup.of("｜DSML｜"), Markup.of("")


def deepseek_v32(reading: Reading) -> None:
    """Read every `invoke` in a section of DSML."""
    name = "tool_calls" if "<｜DSML｜tool_calls>" in reading.text else "function_calls"
    _read(reading, _DSML, f"<｜DSML｜{name}>", f"</｜DSML｜{name}>")


def minimax_m2(reading: Reading) -> None:
    """Read every `invoke` in a section of MiniMax."""
    _read(reading, _PLAIN, "<minimax:tool_call>", "</minimax:tool_call>")


def _read(reading: Reading, markup: Markup, section: str, close: str) -> None:
    sections(reading, markup.marks(section, close), lambda reading, start: _call(reading, start, markup))


def _call(reading: Reading, start: int, markup: Markup) -> Attempt:
    name = reading.until('">')
    if not name or "<" in name or "\n" in name:
        raise Fault("missing_name")
    args: dict[str, Any] = {}
    while head := reading.match(markup.parameter):
        text = value_before(reading, markup.after, f"<{markup.prefix}parameter name=")
        reading.take(f"</{markup.prefix}parameter>")
        if head[1] in args:
            raise Fault("duplicate_key")
        args[head[1]] = _value(text, head[2], name, head[1], reading)
    return reading.call(name, args, start)


def _value(text: str, string: str | None, name: str, key: str, reading: Reading) -> Any:
    if string is None:
        return typed_value(text, name, key, reading.options)
    return text if string == "true" else decoded(text)
