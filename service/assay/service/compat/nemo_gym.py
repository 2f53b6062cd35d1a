"""NeMo Gym's resources server: `/verify` and related routes, without sessions (a verdict needs none).

The request is returned with `reward`, `mask_sample`, `failure_kind`, `failure_reason`, and the components of the reward
under fixed keys. `mask_sample` is NeMo's term for "no measurement": faulty rows are masked, at the top level and in
`instance_config`, where NeMo-RL reads it; their 0.0 is there only because the field must be a number. As long as a
verdict is possible the answer is 503 with Retry-After: a masked row still moves NeMo-RL's baseline. Rows have every
field of the body, such as `expected_answer` or `verifier_metadata.answer`. Not covered: the Environment Servers'
`ResourcesVerifyRequest`, tools, MCP.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from assay.contract.codes import ProblemCode
from assay.service.compat.scoring import CompatProtocol, Later, Verdict, body_of, busy, encoded
from assay.service.compat.settings import NemoGymSettings
from assay.service.engine.errors import EngineError, EnvelopeFault
from assay.service.front import Front

JSON = "application/json"


def add(app: FastAPI, front: Front, settings: NemoGymSettings) -> None:
    """Add the routes."""
    protocol = CompatProtocol("nemo_gym", front, settings, deadline_s=settings.deadline_s)
    _sessions(app, settings.prefix)

    @app.post(settings.prefix + "/verify", tags=["compat"])
    async def verify(request: Request) -> Response:
        """NeMo Gym: score one rollout."""
        try:
            body = await body_of(request)
            messages = completion_of(body.get("response"))
            (verdict,) = await protocol.score(request, [body], [messages])
        except (Later, EngineError) as error:
            return busy(error)
        return Response(encoded({**body, **_answer(verdict, body.get("instance_config"))}), media_type=JSON)

    @app.post(settings.prefix + "/aggregate_metrics", tags=["compat"])
    async def aggregate_metrics(request: Request) -> Response:
        """NeMo Gym: means over the responses that are not masked."""
        try:
            return Response(encoded(aggregated(await body_of(request))), media_type=JSON)
        except EngineError as error:
            return busy(error)


def _sessions(app: FastAPI, prefix: str) -> None:
    async def echo_session(request: Request) -> Response:
        """NeMo Gym: no state is kept; the caller's session id is returned."""
        try:
            body = await body_of(request)
        except EngineError as error:
            return busy(error)
        kept = {name: body[name] for name in ("resources_session_id",) if name in body}
        return Response(encoded(kept), media_type=JSON)

    app.post(prefix + "/seed_session", tags=["compat"])(echo_session)
    app.post(prefix + "/close_session", tags=["compat"])(echo_session)

    @app.get(prefix + "/reverify_mode", tags=["compat"])
    async def reverify_mode() -> str:
        """NeMo Gym: a rollout may be verified again at any time."""
        return "stateless"


def _answer(verdict: Verdict, instance_config: Any) -> dict[str, Any]:
    masked = verdict.reward is None
    kept = instance_config if isinstance(instance_config, Mapping) else {}
    return {
        "reward": 0.0 if verdict.reward is None else verdict.reward,
        "mask_sample": masked,
        "instance_config": {**kept, "mask_sample": masked},
        "failure_kind": "verifier_error" if masked else None,
        "failure_reason": f"{verdict.fault}: {verdict.detail}"[:500] if masked else None,
        "reward_components": {"score": verdict.unit_score or 0.0},
        "assay_reason": "no_verdict" if masked else verdict.reason,
    }


def completion_of(response: Any) -> list[dict[str, Any]]:
    """Return the output of a Responses object as chat messages. Accepts text of any kind. Raises `EnvelopeFault`."""
    output = response.get("output") if isinstance(response, Mapping) else None
    if not isinstance(output, list):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "response.output must be a list", field="response")
    messages: list[dict[str, Any]] = []
    thinking: list[str] = []
    for item in output:
        if not isinstance(item, Mapping):
            continue
        if item.get("type") == "reasoning":
            thinking.append(_text(item.get("content")) or _text(item.get("summary")))
            continue
        message = _message(item)
        if message is not None:
            if thinking and message["role"] == "assistant":
                message["reasoning_content"] = "\n".join(thinking)
                thinking = []
            messages.append(message)
    return messages or [{"role": "assistant", "content": ""}]


def _message(item: Mapping[str, Any]) -> dict[str, Any] | None:
    kind = item.get("type", "message")
    if kind == "message":
        return {"role": str(item.get("role") or "assistant"), "content": _text(item.get("content"))}
    call_id = str(item.get("call_id") or item.get("id") or "")
    if kind == "function_call":
        function = {"name": str(item.get("name", "")), "arguments": _arguments(item.get("arguments"))}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        }
    if kind == "function_call_output":
        output = item.get("output")
        return {
            "role": "tool",
            "tool_call_id": call_id,
            "content": output if isinstance(output, str) else _text(output),
        }
    return None


def _arguments(value: Any) -> Any:
    return value if isinstance(value, str | dict) else encoded(value).decode()


def _text(content: Any) -> str:
    """Return the text of a content: a string, or the joined texts of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))


def aggregated(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return means over the responses that are not masked, overall and per task."""
    responses = body.get("verify_responses")
    if not isinstance(responses, list):
        raise EnvelopeFault(ProblemCode.INVALID_BODY, "verify_responses must be a list", field="verify_responses")
    measured = [
        r for r in responses if isinstance(r, Mapping) and not r.get("mask_sample") and _finite(r.get("reward"))
    ]
    groups: dict[Any, list[float]] = {}
    for response in measured:
        groups.setdefault(str(response.get("_ng_task_index", "")), []).append(float(response["reward"]))
    by_group = [
        {"_ng_task_index": _index(task), "mean/reward": math.fsum(r) / len(r), "count": len(r)}
        for task, r in groups.items()
    ]
    means = _means([reward for rewards in groups.values() for reward in rewards])
    counts = {"measured": len(measured), "masked": len(responses) - len(measured)}
    return {"group_level_metrics": by_group, "agent_metrics": means | counts, "key_metrics": means}


def _means(rewards: list[float]) -> dict[str, float]:
    return {"mean/reward": math.fsum(rewards) / len(rewards)} if rewards else {}


def _index(task: str) -> int | str:
    return int(task) if task.isdecimal() and len(task) < 19 else task


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
