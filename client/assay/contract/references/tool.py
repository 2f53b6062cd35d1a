"""The reference of `tool`: expected calls, the resulting state, or the returned results."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from assay.contract.base import ContractModel, Reference

Syntax = Literal[
    "auto",
    "openai",
    "hermes",
    "qwen3_xml",
    "llama3_json",
    "pythonic",
    "mistral",
    "deepseek_v3",
    "deepseek_v31",
    "glm45",
    "glm47",
    "kimi_k2",
    "harmony",
    "xlam",
    "deepseek_v32",
    "minimax_m2",
    "gemma",
    "seed_oss",
    "granite",
    "phi4",
    "jamba",
    "internlm2",
    "tagged_json",
]


class ExpectedCall(ContractModel):
    """A call by name and arguments. Values may be matchers; `args: {"$ignore": true}` accepts any arguments."""

    name: str = Field(min_length=1, description="Case-sensitive.")
    args: dict[str, Any] = Field(description="Exactly these keys, except with `$optional` and `$absent`.")


class Retrieval(ContractModel):
    """Ids in the recorded results of `tool`, compared with `gold_ids`."""

    tool: str = Field(description="Only results that answer a call of this tool count.")
    gold_ids: list[Any] = Field(min_length=1, description="Compared as whole JSON values.")
    k: int = Field(gt=0, description="Number of ids taken from the start of each result.")
    mode: Literal["any", "all", "recall", "ndcg"] = Field(
        description="`any` and `all`: 1 or 0. `recall`: the share found. `ndcg`: by rank in the merged list."
    )
    id_path: str = Field(description="JSON Pointer in which `*` is any key or index, such as `/*/id`.")


class ToolOutput(ContractModel):
    """The latest recorded result of `tool` matches, is valid, is not an error: whichever are given."""

    tool: str = Field(description="Only results that answer a call of this tool count.")
    match: Any = Field(None, description="Matched with the result's JSON value, or with its text.")
    schema_: dict[str, Any] | bool | None = Field(
        None, alias="schema", description="The result must be JSON that is valid (2020-12)."
    )
    not_error: bool = Field(False, description="The result must not report an error.")


class AnswerFromTool(ContractModel):
    """The final answer (marked, else the whole text) occurs as a whole in a recorded result of `tool`."""

    tool: str = Field(description="Only results that answer a call of this tool count.")


class ToolRun(ContractModel):
    """The row's own tool implementations, run in the sandbox on the model's calls."""

    implementation: str = Field(
        min_length=1,
        description="Python: a function per tool (dots as `_`) or a mapping `TOOLS`; its final state is `state`.",
    )
    returns: Any = Field(None, description="Matched with the list of returned values, in the order of the calls.")
    state: Any = Field(None, description="Matched with the implementation's global `state` after the calls.")


class Expectation(ContractModel):
    """Exactly one kind of expectation, with its own options."""

    calls: list[ExpectedCall] | None = Field(
        None, min_length=1, description="Each is matched with a different call, by maximum matching."
    )
    order: Literal["any", "strict"] = Field("any", description="`strict`: an ordered subsequence of the calls.")
    extra_calls: Literal["forbid", "allow", "read_only"] = Field(
        "forbid", description="Which other calls are allowed: none, any, or calls of tools marked `read_only`."
    )
    max_calls: int | None = Field(None, ge=0, description="Maximum total number of calls.")
    no_call: Literal[True] | None = Field(None, description="There must be no call and no failed attempt at one.")
    state: Any = Field(None, description="Must equal the item's `final_state`; matchers are allowed.")
    ignore_paths: list[str] | None = Field(
        None, description="JSON Pointers, `*` for any step, removed from both states."
    )
    required_calls: list[ExpectedCall] | None = Field(
        None, description="Calls that must also be made, each a different call."
    )
    forbidden_calls: list[ExpectedCall] | None = Field(None, description="Calls that must not be made.")
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
            raise ValueError(f"expect must have exactly one of {', '.join(EXPECTATION_OPTIONS)}")
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
"""The options of each kind of expectation."""


class ToolReference(Reference):
    """What the model's tool calls, their results, or the resulting state must be."""

    tools: list[dict[str, Any]] | None = Field(
        None, description="`[{name, parameters, read_only?}]`, or OpenAI's `{type, function}`."
    )
    syntax: Syntax = Field("auto", description="How calls are written in text; `openai`: in `tool_calls` only.")
    think: Literal["strip", "keep"] = Field("strip", description="`keep`: calls in the thinking count too.")
    parse: Literal["strict", "lenient"] = Field(
        "strict", description="`lenient` closes truncated JSON and escapes raw newlines in strings."
    )
    expect: Expectation
    args_match: Literal["exact", "subset"] = Field(
        "exact", description="`subset`: a call may have further arguments beside the expected ones."
    )
    prose: Literal["free", "forbid"] = Field(
        "free", description="`forbid`: no text beside the calls, thinking apart; without a call it has no effect."
    )
    reward: Literal["binary", "f1"] = Field("binary", description="`f1`: partial credit for `calls`.")
    string_args: Literal["reject", "decode"] = Field(
        "reject", description="`decode`: arguments given as a JSON string are parsed."
    )
