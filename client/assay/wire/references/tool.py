"""The reference of `tool`: calls, the state they led to, or what they returned."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from assay.wire.base import Reference, WireModel

Syntax = Literal[
    "auto", "openai", "hermes", "qwen3_xml", "llama3_json", "pythonic", "mistral", "deepseek_v3",
    "deepseek_v31", "glm45", "glm47", "kimi_k2", "harmony", "xlam",
]  # fmt: skip


class ExpectedCall(WireModel):
    """A call by name and arguments; values may be matchers, `args: {"$ignore": true}` accepts any."""

    name: str
    args: dict[str, Any]


class Retrieval(WireModel):
    """Ids that the recorded results of `tool` hold, against `gold_ids`."""

    tool: str
    gold_ids: list[Any] = Field(min_length=1)
    k: int = Field(gt=0)
    mode: Literal["any", "all", "recall", "ndcg"]
    id_path: str


class ToolOutput(WireModel):
    """The recorded result of `tool` matches or validates."""

    tool: str
    match: Any = None
    schema_: dict[str, Any] | bool | None = Field(None, alias="schema")
    not_error: bool = False


class AnswerFromTool(WireModel):
    """The final answer is supported by a recorded result of `tool`."""

    tool: str


class ToolRun(WireModel):
    """The row's own implementations, run in the sandbox on the model's calls."""

    implementation: str
    returns: Any = None
    state: Any = None


class Expectation(WireModel):
    """Exactly one kind of expectation, with its own options."""

    calls: list[ExpectedCall] | None = Field(None, min_length=1)
    order: Literal["any", "strict"] = "any"
    extra_calls: Literal["forbid", "allow", "read_only"] = "forbid"
    max_calls: int | None = Field(None, ge=0)
    no_call: Literal[True] | None = None
    state: Any = None
    ignore_paths: list[str] | None = None
    required_calls: list[ExpectedCall] | None = None
    forbidden_calls: list[ExpectedCall] | None = None
    retrieval: Retrieval | None = None
    output: ToolOutput | None = None
    answer_from_tool: AnswerFromTool | None = None
    run: ToolRun | None = None
    any_of: list[Expectation] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _options_fit(self) -> Expectation:
        given = self.model_fields_set
        kinds = given & set(EXPECTATION_OPTIONS)
        if len(kinds) != 1:
            raise ValueError(f"expect holds exactly one of {', '.join(EXPECTATION_OPTIONS)}")
        stray = given - kinds - EXPECTATION_OPTIONS[kinds.pop()]
        if stray:
            raise ValueError(f"option does not belong to this expectation: {', '.join(sorted(stray))}")
        return self


EXPECTATION_OPTIONS: dict[str, frozenset[str]] = {
    "calls": frozenset({"order", "extra_calls", "max_calls"}),
    "no_call": frozenset(),
    "state": frozenset({"ignore_paths", "required_calls", "forbidden_calls"}),
    "retrieval": frozenset(),
    "output": frozenset(),
    "answer_from_tool": frozenset(),
    "run": frozenset(),
    "any_of": frozenset(),
}
"""Each kind of expectation, and the options that go with it."""


class ToolReference(Reference):
    """What the model's tool calls, their results, or the state after them must be."""

    tools: list[dict[str, Any]] | None = Field(
        None, description="`[{name, parameters, read_only?}]`, or OpenAI's `{type, function}`."
    )
    syntax: Syntax = "auto"
    think: Literal["strip", "keep"] = "strip"
    parse: Literal["strict", "lenient"] = "strict"
    expect: Expectation
    reward: Literal["binary", "f1"] = "binary"
    string_args: Literal["reject", "decode"] = "reject"
