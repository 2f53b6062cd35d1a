"""The `tool` verifier: reads the calls, failed attempts and recorded results of a completion, and checks one
expectation.

Tools, matchers and paths are prepared once per row. It needs a sandbox slot if the row's own tools are run (`run`). Not
covered: whether a call's arguments fit the tool's schema beyond what the row expects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.contract.references.tool import ToolReference
from assay.verifiers.base import Budget, Verdict, Verifier
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.sandboxing import require_slot
from assay.verifiers.tool.attempts import Options, Tool
from assay.verifiers.tool.expectations import prepare_expectation, runs_programs, wall_s_of
from assay.verifiers.tool.outcome import Check, Context, Outcome
from assay.verifiers.tool.reading import Reply, read

SHOWN_CALLS = 32


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A prepared row."""

    reference: ToolReference
    options: Options
    check: Check
    wall_s: float | None


class ToolVerifier(Verifier[ToolReference, ToolSpec]):
    """Check tool calls: the right ones, none, the state they led to, or what they returned."""

    name = "tool"
    version = 1
    reference_model = ToolReference
    may_sandbox = True
    reads = frozenset({"completion", "prefill", "final_state"})
    budget = Budget(prepare_cpu_s=2.0, verify_cpu_s=5.0)

    def prepare(self, reference: ToolReference) -> ToolSpec:
        """Compile the expectation. Raises `InvalidReference` with the field, or `NeedsSandbox`."""
        options = Options(
            tools=_toolbox(reference.tools),
            lenient=reference.parse == "lenient",
            decode_strings=reference.string_args == "decode",
        )
        context = Context(options=options, f1=reference.reward == "f1", subset=reference.args_match == "subset")
        check = prepare_expectation(reference.expect, context, "expect")
        if runs_programs(reference.expect):
            require_slot()
        return ToolSpec(reference=reference, options=options, check=check, wall_s=wall_s_of(reference.expect))

    def wall_s(self, spec: ToolSpec) -> float | None:
        """Return the time limit of the row's programs, or None if there are none."""
        return spec.wall_s

    def verify(self, spec: ToolSpec, candidate: Candidate) -> Verdict:
        """Read the completion, then check it. Raises `InvalidItem` if the row needs a `final_state` and none was
        recorded.
        """
        reference = spec.reference
        reply = read(
            candidate,
            syntax=reference.syntax,
            options=spec.options,
            keep_thinking=reference.think == "keep",
        )
        outcome = spec.check(reply, candidate)
        if reference.prose == "forbid" and outcome.score > 0 and reply.attempts and reply.prose:
            outcome = Outcome(0.0, "prose")
        return _verdict(outcome, reply, candidate)


def _verdict(outcome: Outcome, reply: Reply, candidate: Candidate) -> Verdict:
    shown = [{"name": call.name, "args": call.args} for call in reply.calls[:SHOWN_CALLS]]
    first = reply.attempts[0] if reply.attempts else None
    return Verdict(
        reward=outcome.score,
        score=outcome.score,
        reason=outcome.reason,
        extracted=shown or None,
        span=first.span if first else None,
        message=first.message if first else None,
        flags=("failed_attempt",) if reply.failures else (),
        explanation=_explanation(reply) if candidate.explain else {},
    )


def _explanation(reply: Reply) -> Mapping[str, Any]:
    attempts = [
        {"name": attempt.name, "status": attempt.reason or "ok", "message": attempt.message, "span": attempt.span}
        for attempt in reply.attempts[:SHOWN_CALLS]
    ]
    return {"attempts": attempts, "results": len(reply.results)}


def _toolbox(entries: Sequence[Mapping[str, Any]] | None) -> Mapping[str, Tool] | None:
    """Return the declared tools by name. Raises `InvalidReference`."""
    if entries is None:
        return None
    tools: dict[str, Tool] = {}
    for index, entry in enumerate(entries):
        tool = _tool(entry, f"tools.{index}")
        if tool.name in tools:
            raise InvalidReference("the name is declared twice", field=f"tools.{index}.name")
        tools[tool.name] = tool
    return tools


def _tool(entry: Mapping[str, Any], field: str) -> Tool:
    function = entry.get("function", entry)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str) or not function["name"]:
        raise InvalidReference("a tool must have a name", field=f"{field}.name")
    parameters, read_only = function.get("parameters"), entry.get("read_only", function.get("read_only", False))
    if not isinstance(parameters or {}, Mapping) or not isinstance(read_only, bool):
        raise InvalidReference("parameters must be an object, read_only a boolean", field=field)
    return Tool(name=function["name"], parameters=parameters or {}, read_only=read_only)
