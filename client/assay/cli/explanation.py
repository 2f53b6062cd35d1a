"""`--explain ID`: print what was taken as the answer, its position, how it was compared, and why.

All text of the row is untrusted: control characters are shown as escapes, never sent to the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from assay.cli.escape import escape, one_line
from assay.cli.rows import Row

CONTEXT = 160
"""Characters shown on each side of the span."""


def explain(row: Row, result: Mapping[str, Any], out: TextIO) -> None:
    """Write the explanation of one verdict."""
    reward = "no verdict" if result.get("reward") is None else f"reward {result['reward']:g}"
    out.write(f"── {one_line(row.id)} · {one_line(str(result.get('verifier')))} · {reward}\n")
    for name, value in _facts(row, result):
        out.write(f"   {name:<10} {value}\n")
    shown = _in_context(scored_text(row, result.get("message")), result.get("span"))
    if shown:
        out.write(f"   {'text':<10} {shown}\n")


def _facts(row: Row, result: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = [("outcome", f"{result.get('outcome')} ({one_line(str(result.get('reason')))})")]
    error = result.get("error")
    if error:
        where = f" [{error['field']}]" if error.get("field") else ""
        facts.append(("error", one_line(f"{error.get('code')}{where}: {error.get('message')}")))
    facts.append(("extracted", _json(result.get("extracted"))))
    reference = row.raw("reference")
    if reference is not None:
        facts.append(("reference", one_line(reference)))
    if result.get("flags"):
        facts.append(("flags", one_line(", ".join(result["flags"]))))
    for name, value in (result.get("explanation") or {}).items():
        facts.append((one_line(name), _json(value)))
    for part in result.get("parts") or []:
        facts.append((f"part {one_line(str(part.get('name')))}", f"{part.get('reward')} ({part.get('reason')})"))
    for index, test in enumerate(result.get("tests") or []):
        facts.append((f"test {index}", _json(test)))
    return facts


def scored_text(row: Row, message: int | None) -> str | None:
    """Return the text that spans refer to: the completion, or the content of one of its messages."""
    completion = row.value("completion")
    if isinstance(completion, list) and message is not None and 0 <= message < len(completion):
        content = completion[message].get("content")
        if isinstance(content, list):
            return "".join(part.get("text", "") for part in content)
        return content if isinstance(content, str) else None
    return completion if isinstance(completion, str) else None


def _in_context(text: str | None, span: Any) -> str | None:
    if text is None or not isinstance(span, list) or len(span) != 2:
        return None
    start, end = span
    before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
    left, right = "…" if start > CONTEXT else "", "…" if end + CONTEXT < len(text) else ""
    shown = escape(f"{left}{before}⟦{text[start:end]}⟧{after}{right}")
    return shown.replace("\n", "\n" + " " * 14)


def _json(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text, limit=400)
