"""Readers by syntax name of the contract. `openai` has none: its calls are not in text."""

from __future__ import annotations

from collections.abc import Callable

from assay.verifiers.tool.scanner import Reading
from assay.verifiers.tool.syntaxes import arrays, harmony, objects, python, sections, xml

READERS: dict[str, Callable[[Reading], None]] = {
    "hermes": objects.hermes,
    "llama3_json": objects.llama3_json,
    "mistral": arrays.mistral,
    "xlam": arrays.xlam,
    "qwen3_xml": xml.qwen3_xml,
    "glm45": xml.glm,
    "glm47": xml.glm,
    "pythonic": python.pythonic,
    "deepseek_v3": sections.deepseek_v3,
    "deepseek_v31": sections.deepseek_v31,
    "kimi_k2": sections.kimi_k2,
    "harmony": harmony.harmony,
}
