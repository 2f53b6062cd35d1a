"""`run`: the row's own tools run in the sandbox on the model's calls; returned values and final state are compared
outside.

`implementation` is Python: a function per tool (dots in a name become `_`), or a mapping `TOOLS` of name to function.
Its final state, if the row expects one, is its global `state`. The calls are made in order, and only their data enters
the sandbox. A tool that raises, or that the implementation lacks, returns `{"error": "<class>"}`. `returns` is matched
with the list of returned values, `state` with the final state. An implementation that fails before any call is the
row's fault.
"""

from __future__ import annotations

from assay.contract.references.tool import Expectation
from assay.sandbox import Limits
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.matchers import compile_matcher
from assay.verifiers.sandboxing import run_on_values
from assay.verifiers.tool.outcome import Check, Context, Outcome
from assay.verifiers.tool.reading import Reply

LIMITS = Limits(wall_s=10.0, memory_mb=512)
WALL_S = 120.0
DRIVER = """
import json, os, sys
given = json.loads(sys.stdin.buffer.read())
sys.stdin.close()
frame = os.fdopen(3, "w")
sys.stdout = sys.stderr
space = {"__name__": "implementation"}
def tell(kind, **fields):
    text = json.dumps({"kind": kind, **fields}, allow_nan=False, ensure_ascii=True)
    frame.write(text)
    frame.close()
    os._exit(0)
try:
    exec(compile(given["source"], "implementation", "exec"), space)
except BaseException as error:
    tell("broken", error=type(error).__name__)
tools = space.get("TOOLS") or {}
returns = []
for name, args in given["inputs"]:
    tool = tools.get(name) or space.get(name.replace(".", "_"))
    try:
        if not callable(tool) or name.startswith("_"):
            raise LookupError
        value = tool(**args)
        json.dumps(value, allow_nan=False)
    except BaseException as error:
        value = {"error": type(error).__name__}
    returns.append(value)
try:
    tell("done", returns=returns, state=space.get("state"))
except (TypeError, ValueError, RecursionError):
    tell("done", returns=returns, state=None)
"""


def run(expect: Expectation, context: Context, field: str) -> Check:
    """Compile `run`: run the implementation on a completion's calls and check the values."""
    asked = expect.run
    assert asked is not None
    field = f"{field}.run"
    given = asked.model_fields_set
    returns = compile_matcher(asked.returns, f"{field}.returns") if "returns" in given else None
    state = compile_matcher(asked.state, f"{field}.state") if "state" in given else None
    if (returns is None and state is None) or not asked.implementation.strip():
        raise InvalidReference("must not be empty", field=field)

    def check(reply: Reply, candidate: Candidate) -> Outcome:
        if reply.failures or context.unknown_tool(reply):
            return Outcome(0.0, "malformed_call" if reply.failures else "unknown_tool")
        inputs = [[call.name, call.args] for call in reply.calls]
        ran = run_on_values(DRIVER, asked.implementation, inputs, limits=LIMITS, owner=candidate.owner)
        if ran.failure is not None:
            return Outcome(0.0, ran.failure)
        if ran.value.get("kind") != "done":
            raise InvalidReference("the implementation does not load", field=f"{field}.implementation")
        if returns is not None and not returns(ran.value["returns"]):
            return Outcome(0.0, "wrong_output")
        return Outcome.of(state is None or state(ran.value["state"]), "state_mismatch")

    return check
