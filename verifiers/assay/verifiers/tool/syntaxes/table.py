"""Readers by syntax name of the contract. `openai` has none: its calls are not in text."""

from __future__ import annotations

from collections.abc import Callable

from assay.verifiers.tool.scanner import Reading
from assay.verifiers.tool.syntaxes import arrays, gemma, harmony, invoke, objects, python, sections, tagged, xml

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
    "deepseek_v32": invoke.deepseek_v32,
    "minimax_m2": invoke.minimax_m2,
    "gemma": gemma.gemma,
    "seed_oss": xml.seed_oss,
    "granite": tagged.granite,
    "phi4": tagged.phi4,
    "jamba": tagged.jamba,
    "internlm2": tagged.internlm2,
    "tagged_json": tagged.tagged_json,
}
