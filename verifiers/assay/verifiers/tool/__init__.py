"""The `tool` verifier: checks tool calls, their effects, and their results."""

from assay.verifiers.tool.verifier import ToolVerifier

__all__ = ["ToolVerifier"]
