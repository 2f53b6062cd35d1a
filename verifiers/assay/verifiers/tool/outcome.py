"""What an expectation says of a completion, and what every kind of expectation is prepared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.contract.references.tool import ExpectedCall
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.matchers import compile_matcher
from assay.verifiers.tool.attempts import Options
from assay.verifiers.tool.matching import Wanted
from assay.verifiers.tool.reading import Reply


@dataclass(frozen=True)
class Outcome:
    """A score in [0, 1] and the reason for it."""

    score: float
    reason: str

    @classmethod
    def of(cls, met: bool, reason: str) -> Outcome:
        """1 and `equal`, or 0 and `reason`."""
        return MET if met else cls(0.0, reason)


MET = Outcome(1.0, "equal")
Judge = Callable[[Reply, Candidate], Outcome]


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the reference says beside its expectation."""

    options: Options
    f1: bool

    def check_tool(self, name: str, field: str) -> str:
        """The name of a tool that a call can have. Raises `InvalidReference` if tools are declared without it."""
        if not name or (self.options.tools is not None and name not in self.options.tools):
            raise InvalidReference("not one of the declared tools", field=field)
        return name

    def wanted(self, call: ExpectedCall, field: str) -> Wanted:
        """An expected call, its matchers compiled."""
        name = self.check_tool(call.name, f"{field}.name")
        return Wanted(name=name, args=compile_matcher(call.args, f"{field}.args"))

    def unknown_tool(self, reply: Reply) -> bool:
        """Whether a call names a tool that is not declared."""
        tools = self.options.tools
        return tools is not None and any(call.name not in tools for call in reply.calls)
