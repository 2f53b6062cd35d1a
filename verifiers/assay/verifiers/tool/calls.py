"""Expectations on calls: `calls`, `no_call`, and `state` (the state that the calls led to)."""

from __future__ import annotations

from typing import Any

from assay.contract.references.tool import Expectation
from assay.verifiers import strict_json
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidItem, InvalidReference
from assay.verifiers.matchers import compile_matcher
from assay.verifiers.paths import parse_path, without
from assay.verifiers.tool.matching import Spare, all_matched, matches_any_order, matches_in_order, most_matched
from assay.verifiers.tool.outcome import Check, Context, Outcome
from assay.verifiers.tool.reading import Reply


def calls(expect: Expectation, context: Context, field: str) -> Check:
    """Compile `calls`: each expected call is matched with a different call; `extra_calls` says which others are
    allowed.
    """
    wanted = [context.wanted(call, f"{field}.calls.{index}") for index, call in enumerate(expect.calls or ())]
    spare, ordered, most = _spare(expect, context), expect.order == "strict", expect.max_calls
    match = matches_in_order if ordered else matches_any_order
    if most is not None and most < len(wanted):
        raise InvalidReference("fewer than the number of expected calls", field=f"{field}.max_calls")

    def check(reply: Reply, candidate: Candidate) -> Outcome:
        if context.f1:
            return _f1(reply, most_matched(wanted, reply.calls, ordered=ordered), len(wanted), spare, expect)
        if reply.failures:
            return Outcome(0.0, "malformed_call")
        if context.unknown_tool(reply):
            return Outcome(0.0, "unknown_tool")
        if not reply.calls:
            return Outcome(0.0, "no_call")
        if most is not None and len(reply.calls) > most:
            return Outcome(0.0, "too_many_calls")
        return Outcome.of(match(wanted, reply.calls, spare), "call_mismatch")

    return check


def _spare(expect: Expectation, context: Context) -> Spare:
    """Return the predicate for calls that may remain unmatched."""
    if expect.extra_calls == "allow":
        return lambda call: True
    tools = context.options.tools or {}
    if expect.extra_calls == "read_only":
        return lambda call: (tool := tools.get(call.name or "")) is not None and tool.read_only
    return lambda call: False


def _f1(reply: Reply, matched: int, wanted: int, spare: Spare, expect: Expectation) -> Outcome:
    """Return the F1 score over calls. Failed attempts and calls that may not remain unmatched count as false
    positives.
    """
    counted = [call for call in reply.calls if not spare(call)]
    made = max(matched, len(counted)) + len(reply.failures)
    if expect.max_calls is not None and len(reply.calls) > expect.max_calls:
        return Outcome(0.0, "too_many_calls")
    score = 2 * matched / (made + wanted)
    return Outcome(score, "equal" if score == 1 else "malformed_call" if reply.failures else "call_mismatch")


def no_call(expect: Expectation, context: Context, field: str) -> Check:
    """Compile `no_call`: no call and no attempt. A completion whose thinking never ends is not an abstention."""

    def check(reply: Reply, candidate: Candidate) -> Outcome:
        if reply.failures:
            return Outcome(0.0, "malformed_call")
        if reply.calls:
            return Outcome(0.0, "unexpected_call")
        return Outcome.of(not reply.unfinished, "no_answer")

    return check


def state(expect: Expectation, context: Context, field: str) -> Check:
    """Compile `state`: `final_state` equals the expected state without the ignored paths; other calls are allowed.

    If not everything was read, it is unknown whether forbidden calls were made, so the check fails.
    """
    paths = [parse_path(pointer, f"{field}.ignore_paths") for pointer in expect.ignore_paths or ()]
    if () in paths or ("*",) in paths:
        raise InvalidReference("the paths ignore the whole state", field=f"{field}.ignore_paths")
    matches = compile_matcher(without(expect.state, paths), f"{field}.state")
    required = [context.wanted(call, f"{field}.required_calls") for call in expect.required_calls or ()]
    forbidden = [context.wanted(call, f"{field}.forbidden_calls") for call in expect.forbidden_calls or ()]

    def check(reply: Reply, candidate: Candidate) -> Outcome:
        if not candidate.has_final_state:
            raise InvalidItem("required by the reference", field="final_state")
        if context.unknown_tool(reply):
            return Outcome(0.0, "unknown_tool")
        unread = any(failed.reason == "too_many" for failed in reply.failures)
        if (forbidden and unread) or any(want.accepts(call) for call in reply.calls for want in forbidden):
            return Outcome(0.0, "forbidden_call")
        if not all_matched(required, reply.calls):
            return Outcome(0.0, "call_mismatch")
        return Outcome.of(matches(without(_recorded_state(candidate), paths)), "state_mismatch")

    return check


def _recorded_state(candidate: Candidate) -> Any:
    """Return the environment's state with exact numbers. Raises `InvalidItem`."""
    try:
        return strict_json.exact(candidate.final_state)
    except strict_json.JsonFault as fault:
        raise InvalidItem(fault.detail, field="final_state") from None
