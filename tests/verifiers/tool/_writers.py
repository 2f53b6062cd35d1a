"""Calls written in every syntax, as models of that family write them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

Call = tuple[str, dict[str, Any]]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _object(call: Call, key: str = "arguments") -> str:
    return _json({"name": call[0], key: call[1]})


def hermes(calls: Sequence[Call]) -> str:
    return "\n".join(f"<tool_call>\n{_object(call)}\n</tool_call>" for call in calls)


def _bare(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def qwen3_xml(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        arguments = "".join(f"<parameter={key}>\n{_bare(value)}\n</parameter>\n" for key, value in call[1].items())
        return f"<tool_call>\n<function={call[0]}>\n{arguments}</function>\n</tool_call>"

    return "\n".join(map(one, calls))


def glm45(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        pairs = "".join(
            f"<arg_key>{key}</arg_key>\n<arg_value>\n{_bare(value)}\n</arg_value>\n" for key, value in call[1].items()
        )
        return f"<tool_call>{call[0]}\n{pairs}</tool_call>"

    return "\n".join(map(one, calls))


def glm47(calls: Sequence[Call]) -> str:
    return glm45(calls).replace("</arg_key>\n<arg_value>", "</arg_key><arg_value>")


def llama3_json(calls: Sequence[Call]) -> str:
    return "; ".join(_object(call, "parameters") for call in calls)


def pythonic(calls: Sequence[Call]) -> str:
    def one(call: Call) -> str:
        return f"{call[0]}({', '.join(f'{key}={value!r}' for key, value in call[1].items())})"

    return f"[{', '.join(map(one, calls))}]"


def mistral(calls: Sequence[Call]) -> str:
    return f"[TOOL_CALLS] [{', '.join(map(_object, calls))}]"


def mistral_named(calls: Sequence[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{_json(args)}" for name, args in calls)


def deepseek_v3(calls: Sequence[Call]) -> str:
    body = "\n".join(
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{_json(args)}\n```<｜tool▁call▁end｜>"
        for name, args in calls
    )
    return f"<｜tool▁calls▁begin｜>{body}<｜tool▁calls▁end｜>"


def deepseek_v31(calls: Sequence[Call]) -> str:
    body = "".join(f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{_json(args)}<｜tool▁call▁end｜>" for name, args in calls)
    return f"<｜tool▁calls▁begin｜>{body}<｜tool▁calls▁end｜>"


def kimi_k2(calls: Sequence[Call]) -> str:
    body = "".join(
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{_json(args)}<|tool_call_end|>"
        for index, (name, args) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{body}<|tool_calls_section_end|>"


def harmony(calls: Sequence[Call]) -> str:
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{_json(args)}<|call|>"
        for name, args in calls
    )


def xlam(calls: Sequence[Call]) -> str:
    return f"[{', '.join(map(_object, calls))}]"


def _invokes(calls: Sequence[Call], prefix: str, *, typed: bool) -> str:
    def parameter(key: str, value: Any) -> str:
        kind = f' string="{"true" if isinstance(value, str) else "false"}"' if typed else ""
        text = _bare(value) if typed else f"\n{_bare(value)}\n"
        return f'<{prefix}parameter name="{key}"{kind}>{text}</{prefix}parameter>\n'

    return "".join(
        f'<{prefix}invoke name="{name}">\n{"".join(parameter(*pair) for pair in args.items())}</{prefix}invoke>\n'
        for name, args in calls
    )


def _dsml(calls: Sequence[Call], section: str) -> str:
    return f"<｜DSML｜{section}>\n{_invokes(calls, '｜DSML｜', typed=True)}</｜DSML｜{section}>"


def deepseek_v32(calls: Sequence[Call]) -> str:
    return _dsml(calls, "function_calls")


def deepseek_v4(calls: Sequence[Call]) -> str:
    return _dsml(calls, "tool_calls")


def minimax_m2(calls: Sequence[Call]) -> str:
    return f"<minimax:tool_call>\n{_invokes(calls, '', typed=False)}</minimax:tool_call>"


def seed_oss(calls: Sequence[Call]) -> str:
    return (
        qwen3_xml(calls)
        .replace("<tool_call>\n<f", "<seed:tool_call>\n<f")
        .replace("</function>\n</tool_call>", "</function>\n</seed:tool_call>")
    )


def _gemma_value(value: Any, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_gemma_key(k, quote)}:{_gemma_value(v, quote)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_gemma_value(one, quote) for one in value) + "]"
    return _json(value)


def _gemma_key(key: str, quote: str) -> str:
    return key if key.isidentifier() else f"{quote}{key}{quote}"


def functiongemma(calls: Sequence[Call]) -> str:
    return "".join(
        f"<start_function_call>call:{name}{_gemma_value(args, '<escape>')}<end_function_call>" for name, args in calls
    )


def gemma4(calls: Sequence[Call]) -> str:
    quote = '<|"|>'
    return "".join(f"<|tool_call>call:{name}{_gemma_value(args, quote)}<tool_call|>" for name, args in calls)


def tool_code(calls: Sequence[Call]) -> str:
    return "```tool_code\n" + pythonic(calls)[1:-1].replace("), ", "),\n") + "\n```"


def granite(calls: Sequence[Call]) -> str:
    return f"<|tool_call|>{xlam(calls)}"


def phi4(calls: Sequence[Call]) -> str:
    return f"<|tool_call|>{xlam(calls)}<|/tool_call|>"


def phi4_functools(calls: Sequence[Call]) -> str:
    return f"functools{xlam(calls)}"


def jamba(calls: Sequence[Call]) -> str:
    return f"<tool_calls>{xlam(calls)}</tool_calls>"


def internlm2(calls: Sequence[Call]) -> str:
    return "".join(f"<|action_start|><|plugin|>\n{_object(call, 'parameters')}<|action_end|>\n" for call in calls)


def function_call_tag(calls: Sequence[Call]) -> str:
    return "\n".join(f"<function_call>{_object(call)}</function_call>" for call in calls)


def functionary(calls: Sequence[Call]) -> str:
    return "\n".join(f"<function={name}>{_json(args)}</function>" for name, args in calls)


def tool_call_fence(calls: Sequence[Call]) -> str:
    return "\n".join(f"```tool_call\n{_object(call)}\n```" for call in calls)


def openai(calls: Sequence[Call]) -> list[dict[str, Any]]:
    entries = [
        {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": _json(args)}}
        for index, (name, args) in enumerate(calls)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": entries}]


WRITERS: dict[str, tuple[str, Callable[[Sequence[Call]], str]]] = {
    "hermes": ("hermes", hermes),
    "qwen3_xml": ("qwen3_xml", qwen3_xml),
    "glm45": ("glm45", glm45),
    "glm47": ("glm47", glm47),
    "llama3_json": ("llama3_json", llama3_json),
    "pythonic": ("pythonic", pythonic),
    "mistral array": ("mistral", mistral),
    "mistral named": ("mistral", mistral_named),
    "deepseek_v3": ("deepseek_v3", deepseek_v3),
    "deepseek_v31": ("deepseek_v31", deepseek_v31),
    "kimi_k2": ("kimi_k2", kimi_k2),
    "harmony": ("harmony", harmony),
    "xlam": ("xlam", xlam),
    "deepseek_v32": ("deepseek_v32", deepseek_v32),
    "deepseek_v4": ("deepseek_v32", deepseek_v4),
    "minimax_m2": ("minimax_m2", minimax_m2),
    "seed_oss": ("seed_oss", seed_oss),
    "functiongemma": ("gemma", functiongemma),
    "gemma4": ("gemma", gemma4),
    "granite": ("granite", granite),
    "phi4": ("phi4", phi4),
    "phi4 functools": ("phi4", phi4_functools),
    "jamba": ("jamba", jamba),
    "internlm2": ("internlm2", internlm2),
    "function_call tag": ("tagged_json", function_call_tag),
    "functionary": ("tagged_json", functionary),
    "tool_call fence": ("tagged_json", tool_call_fence),
}
BARE_TEXT = ("qwen3_xml", "glm45", "glm47", "minimax_m2", "seed_oss")
"""Syntaxes whose values are bare text that only the tool's schema types."""
