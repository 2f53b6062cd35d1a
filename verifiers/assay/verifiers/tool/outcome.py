"""The outcome of an expectation, and the context that every kind of expectation is prepared with."""

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
    """A score in [0, 1] and its reason."""

    score: float
    reason: str

    @classmethod
    def of(cls, met: bool, reason: str) -> Outcome:
        """Return 1 with reason `equal`, or 0 with `reason`."""
        return MET if met else cls(0.0, reason)


MET = Outcome(1.0, "equal")
Check = Callable[[Reply, Candidate], Outcome]


@dataclass(frozen=True, kw_only=True)
class Context:
    """The fields of the reference other than its expectation."""

    options: Options
    f1: bool
    subset: bool = False

    def check_tool(self, name: str, field: str) -> str:
        """Return the name of a tool. Raises `InvalidReference` if tools are declared and it is not one of them."""
        if not name or (self.options.tools is not None and name not in self.options.tools):
            raise InvalidReference("not one of the declared tools", field=field)
        return name

    def wanted(self, call: ExpectedCall, field: str) -> Wanted:
        """Return an expected call, its matchers compiled."""
        name = self.check_tool(call.name, f"{field}.name")
        only = frozenset(call.args) if self.subset and "$ignore" not in call.args else None
        return Wanted(name=name, args=compile_matcher(call.args, f"{field}.args"), only=only)

    def unknown_tool(self, reply: Reply) -> bool:
        """Return whether a call names a tool that is not declared."""
        tools = self.options.tools
        return tools is not None and any(call.name not in tools for call in reply.calls)
