"""The `tool` verifier: tool calls, what they led to, and what they returned."""

from assay.verifiers.tool.verifier import ToolVerifier

__all__ = ["ToolVerifier"]
