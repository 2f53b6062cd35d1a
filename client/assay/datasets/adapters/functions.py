"""Python functions judged by assertions: HumanEval and MBPP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.datasets.adapters.base import Adapter, Fields, Options, fenced, name_of, text
from assay.datasets.records import RecordFault


def _humaneval(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    """Yield a chat model answers the whole function: the prompt before it brings imports and helpers, and is
    replaced.
    """
    prompt, entry = text(fields, "prompt"), text(fields, "entry_point")
    test = f"{text(fields, 'test').rstrip()}\n\ncheck({entry})\n"
    reference: dict[str, Any] = {"language": "python", "mode": "asserts", "tests": [{"test_code": test}]}
    worked = fields.get("canonical_solution")
    if options.base_model:
        reference |= {"prefix": prompt, "extract": "whole"}
    else:
        reference["prefix"] = prompt.rstrip() + "\n\n"
    row = {**name_of(fields.get("task_id")), "prompt": prompt, "verifier": "code", "reference": reference}
    if isinstance(worked, str):
        row["gold_completion"] = worked if options.base_model else fenced(prompt + worked)
    yield row


HUMANEVAL = Adapter(
    name="humaneval", summary="prompt, test, entry_point, canonical_solution (openai_humaneval)",
    columns=("prompt", "test", "entry_point"), convert=_humaneval,
)  # fmt: skip


def _mbpp(fields: Fields, options: Options) -> Iterator[dict[str, Any]]:
    asserts = fields["test_list"]
    if not isinstance(asserts, list) or not asserts or not all(isinstance(line, str) for line in asserts):
        raise RecordFault("column test_list is no list of assertions")
    setup = fields.get("test_setup_code") or "\n".join(fields.get("test_imports") or [])
    question = fields.get("text") or fields.get("prompt")
    if not isinstance(question, str):
        raise RecordFault("no column text or prompt")
    shown = "\n".join(asserts)
    tests = [{"test_code": f"{setup}\n{line}".lstrip()} for line in asserts]
    yield {
        **name_of(fields.get("task_id"), default=None),
        "prompt": f"{question}\n\nYour code should pass these tests:\n\n{shown}",
        "verifier": "code",
        "reference": {"language": "python", "mode": "asserts", "tests": tests},
        **({"gold_completion": fenced(fields["code"])} if isinstance(fields.get("code"), str) else {}),
    }


MBPP = Adapter(
    name="mbpp", summary="text or prompt, code, test_list (google-research-datasets/mbpp, both forms)",
    columns=("test_list",), convert=_mbpp,
)  # fmt: skip
