"""`schema`: the answer, or the arguments of the one call, is a document, valid, and equal to the gold if there is one.

JSON is read by the one strict parser of the service: NaN, duplicate keys, single quotes, text after the value, nesting
deeper than 200 and numbers of more than 4,300 digits are rejected, in time linear in the text. Other formats are read
as the same values (`documents`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.contract.references.schema import SchemaReference
from assay.verifiers.base import Budget, Verdict, Verifier, binary
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import InvalidReference
from assay.verifiers.matchers import Matcher, compile_matcher, compile_schema, exact_value, has_matchers
from assay.verifiers.schema.documents import DocumentFault, read_document
from assay.verifiers.schema.extraction import EXTRACTIONS
from assay.verifiers.tool.attempts import Options, Tool
from assay.verifiers.tool.reading import read


@dataclass(frozen=True, kw_only=True)
class SchemaSpec:
    """A prepared row."""

    reference: SchemaReference
    valid: Callable[[Any], bool]
    gold: Matcher | None
    options: Options


class SchemaVerifier(Verifier[SchemaReference, SchemaSpec]):
    """Check JSON in the completion, or a tool call's arguments, against a JSON Schema and a gold."""

    name = "schema"
    version = 1
    reference_model = SchemaReference
    budget = Budget(prepare_cpu_s=2.0, verify_cpu_s=5.0)

    def prepare(self, reference: SchemaReference) -> SchemaSpec:
        """Compile schema and gold. Raises `InvalidReference`; a plain gold must itself be valid."""
        if reference.schema_ is False:
            raise InvalidReference("no document is valid by `false`", field="schema")
        if reference.tool is not None and reference.mode != "tool_call":
            raise InvalidReference("only allowed with mode tool_call", field="tool")
        if reference.extract == "last_object" and reference.format != "json":
            raise InvalidReference("only for format json", field="extract")
        if reference.mode == "tool_call" and reference.format != "json":
            raise InvalidReference("arguments of a call are JSON", field="format")
        valid = compile_schema(reference.schema_, "schema", assert_format=reference.assert_format)
        if "gold" not in reference.model_fields_set:
            return SchemaSpec(reference=reference, valid=valid, gold=None, options=_options(reference))
        gold = exact_value(reference.gold, "gold")
        if not has_matchers(gold) and not valid(gold):
            raise InvalidReference("the gold is not valid against the schema", field="gold")
        matcher = compile_matcher(gold, "gold")
        return SchemaSpec(reference=reference, valid=valid, gold=matcher, options=_options(reference))

    def verify(self, spec: SchemaSpec, candidate: Candidate) -> Verdict:
        """Parse the JSON, validate, compare."""
        if spec.reference.mode == "tool_call":
            return _check_call(spec, candidate)
        answer = candidate.answer
        if answer is None or not answer.text.strip():
            return binary(False, "no_answer", message=candidate.message_index)
        reference = spec.reference
        found = EXTRACTIONS[reference.extract](answer.text, reference.format)
        if found is None:
            return binary(False, "no_answer", message=answer.message)
        where: dict[str, Any] = {
            "span": (answer.offset + found.start, answer.offset + found.end),
            "message": answer.message,
        }
        try:
            value = read_document(found.text, reference.format, reference.schema_)
        except DocumentFault as fault:
            explanation = {"why": fault.detail} if candidate.explain else {}
            return binary(False, "unparsed", explanation=explanation, **where)
        return _check_value(spec, value, where)


def _options(reference: SchemaReference) -> Options:
    """Return how calls are read: the row's schema is the schema of its tool's arguments and gives bare text its
    type.
    """
    parameters = reference.schema_ if isinstance(reference.schema_, dict) else {}
    if reference.tool is None:
        return Options(other=Tool(name="", parameters=parameters))
    return Options(tools={reference.tool: Tool(name=reference.tool, parameters=parameters)})


def _check_value(spec: SchemaSpec, value: Any, where: dict[str, Any]) -> Verdict:
    if not spec.valid(value):
        return binary(False, "schema_mismatch", extracted=value, **where)
    equal = spec.gold is None or spec.gold(value)
    return binary(equal, extracted=value, **where)


def _check_call(spec: SchemaSpec, candidate: Candidate) -> Verdict:
    reply = read(candidate, syntax="auto", options=spec.options)
    if reply.failures:
        return binary(False, "malformed_call", message=reply.failures[0].message)
    if len(reply.calls) != 1:
        return binary(False, "call_mismatch" if reply.calls else "no_call", message=candidate.message_index)
    call = reply.calls[0]
    if spec.reference.tool is not None and call.name != spec.reference.tool:
        return binary(False, "unknown_tool", message=call.message)
    return _check_value(spec, call.args, {"span": call.span, "message": call.message})
