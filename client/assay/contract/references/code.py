"""The reference of `code`: a program is correct if it passes the row's tests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from assay.contract.base import ContractModel, Reference

Positive = Annotated[float, Field(gt=0)]
PositiveInt = Annotated[int, Field(gt=0)]


class CodeLimits(ContractModel):
    """Limits of one test. A value above the server's ceiling refuses the row; it is never clamped."""

    wall_s: Positive | None = Field(None, description="Seconds of wall time (default 5).")
    cpu_s: Positive | None = Field(None, description="Seconds of CPU (default: as much as `wall_s`).")
    memory_mb: PositiveInt | None = Field(None, description="MiB of memory (default 512).")
    processes: PositiveInt | None = Field(None, description="Processes and threads (default 64).")
    output_mb: Positive | None = Field(None, description="MiB of standard output (default 4).")
    disk_mb: PositiveInt | None = Field(None, description="MiB of files, /tmp and /dev/shm included (default 64).")


class StdioTest(ContractModel):
    """A complete program reads `stdin` and must print `expected_stdout`."""

    stdin: str = Field("", description="Standard input.")
    expected_stdout: str | None = Field(
        None, description="The expected output; may be omitted only with a `checker` or `interactor`."
    )


class FunctionTest(ContractModel):
    """`entry_point(*args, **kwargs)` must return `expected`.

    Arguments and expected values are JSON. An object with exactly one of these keys is a typed value: `$tuple` [..],
    `$set`
    [..], `$bytes` base64, `$tree` (TreeNode, level order, null for no node), `$list` (ListNode chain) [..], `$callback`
    {"returns": v} or {"table": [[[args], v], ..], "default": v} (a function; after the call it counts as the list of
    argument lists it was called with), and `$json` v (v unchanged, for plain data that looks like one of these).
    """

    entry_point: str = Field(description="A name that the program defines, or a method of its class `Solution`.")
    args: list[Any] = Field(default_factory=list, description="Positional arguments.")
    kwargs: dict[str, Any] | None = Field(None, description="Keyword arguments.")
    expected: Any = Field(description="The expected return value; null is None.")
    check_args: list[Any] | None = Field(
        None,
        description="The expected positional arguments after the call, for functions that modify them.",
    )


class AssertsTest(ContractModel):
    """Test code with assertions, `unittest.TestCase` classes or `test_*` functions."""

    test_code: str = Field(description="Python code that sees the program's module-level names.")
    assertions: PositiveInt | None = Field(
        None, description="Number of assertions that the gold solution executes; a pass must execute as many."
    )


class CheckerProgram(ContractModel):
    """A program of the row that checks the candidate's output (`checker`) or talks to the candidate (`interactor`).

    `testlib`: exit codes 0 right, 1 wrong, 2 ill-formed, 7 partial (points on stderr are ignored). A checker's argv:
    input, output, answer files; an interactor's the same, with the candidate on its stdin and stdout.
    `python`: a checker defines `check(stdin, stdout, expected) -> bool` (all text), an interactor `interact(stdin,
    read, write) -> bool`: `read()` returns the candidate's next line or None, `write(text)` sends it text.
    """

    language: str = Field(description="Language of `source`; python for protocol `python`.")
    source: str = Field(min_length=1, description="Source code of the program.")
    protocol: Literal["testlib", "python"] = Field(
        "testlib", description="How it is called and how it returns its decision."
    )


class CodeReference(Reference):
    """Tests, and how a program is run and its output compared."""

    language: str = Field(description="python, c, cpp, javascript, bash, … as available on the host.")
    mode: Literal["stdio", "function", "asserts"] = Field(description="The kind of test.")
    tests: list[StdioTest | FunctionTest | AssertsTest] = Field(min_length=1, max_length=1000)
    scoring: Literal["all", "fraction"] = Field(
        "all", description="All tests must pass, or the score is the share that passes."
    )
    compare: str | None = Field(
        None,
        pattern=r"^(lines|tokens|exact|json|float:[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?)$",
        description="`lines` (default), `tokens`, `exact`, `float:TOL` for stdio; `json` (default), "
        "`float:TOL` for function; asserts ignores it.",
    )
    limits: CodeLimits | None = Field(None, description="Limits of each test.")
    extract: Literal["last_fence", "whole"] = Field(
        "last_fence",
        description="The program is the last code fence after the thinking, or the whole text.",
    )
    prefix: str = Field("", description="Code put before the extracted code, verbatim.")
    checker: CheckerProgram | None = Field(None, description="Checks the output instead of a comparison.")
    interactor: CheckerProgram | None = Field(None, description="Talks to the program while it runs, and decides.")
    env: str = Field("plain", description="Package environment that the program may import from.")
    isolation: Literal["test", "shared"] = Field(
        "test", description="`shared` runs all tests in one process first; only a pass of all tests counts."
    )
    trust: Literal["strict", "low"] = Field(
        "strict", description="`low`: asserts run in the candidate's own process, and the result is flagged."
    )
    hide_tests: bool = Field(False, description="Omit the per-test results from the response.")
