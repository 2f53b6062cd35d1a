"""Check a `code` reference and prepare it, once for all items that share it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from assay.contract.references.code import AssertsTest, CheckerProgram, CodeReference, FunctionTest, StdioTest
from assay.sandbox import CEILINGS, Limits, LimitTooHigh, check_limits, language_table
from assay.sandbox.guest.values.codec import Chain, Encoder, TooLarge, Tree, flatten_chain, flatten_tree
from assay.sandbox.guest.zygote.calls import Builder, ListNode, TreeNode
from assay.verifiers.errors import InvalidReference

_MODES = {"stdio": StdioTest, "function": FunctionTest, "asserts": AssertsTest}
_RULES = {"stdio": ("lines", "tokens", "exact", "float"), "function": ("json", "float")}
MAX_CODE_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A checked reference. `expected` (function mode) holds plain values per test: result, arguments.

    Only running shows whether the row's own checker or interactor works (`works`), and which imports of its prefix an
    environment lacks (`missing_imports`): both are remembered.
    """

    reference: CodeReference
    limits: Limits
    compare: str
    expected: tuple[tuple[Any, Any], ...] = ()
    typed: bool = False
    works: dict[str, bool] = field(default_factory=dict, compare=False)
    missing_imports: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)


def prepare(reference: CodeReference) -> Spec:
    """Check what the model of the reference cannot. Raises `InvalidReference`."""
    if reference.language not in language_table():
        raise InvalidReference("unknown language", field="language")
    if reference.mode != "stdio" and reference.language != "python":
        raise InvalidReference(f"mode {reference.mode} is for python", field="language")
    for index, test in enumerate(reference.tests):
        _check_test(reference, test, index)
    for checker in (reference.checker, reference.interactor):
        if checker is not None:
            _check_checker(reference, checker)
    return Spec(
        reference=reference,
        limits=_limits(reference),
        compare=_rule(reference),
        expected=_expected(reference) if reference.mode == "function" else (),
        typed=reference.mode == "function" and _mentions_nodes(reference),
    )


def _check_test(reference: CodeReference, test: object, index: int) -> None:
    if not isinstance(test, _MODES[reference.mode]):
        raise InvalidReference(f"a test of mode {reference.mode} has other fields", field=f"tests.{index}")
    decided_by_program = reference.checker is not None or reference.interactor is not None
    if isinstance(test, StdioTest) and test.expected_stdout is None and not decided_by_program:
        raise InvalidReference("a test needs an expectation", field=f"tests.{index}.expected_stdout")
    if isinstance(test, FunctionTest) and not test.entry_point.isidentifier():
        raise InvalidReference("entry_point must be an identifier", field=f"tests.{index}.entry_point")
    if isinstance(test, AssertsTest) and not test.test_code.strip():
        raise InvalidReference("a test needs something to check", field=f"tests.{index}.test_code")


def _check_checker(reference: CodeReference, checker: CheckerProgram) -> None:
    if reference.mode != "stdio":
        raise InvalidReference("checkers and interactors are for mode stdio", field="checker")
    if reference.checker is not None and reference.interactor is not None:
        raise InvalidReference("a checker or an interactor, not both", field="interactor")
    if checker.language not in language_table():
        raise InvalidReference("unknown language of the checker", field="checker.language")
    if checker.protocol == "python" and checker.language != "python":
        raise InvalidReference("protocol python is for checkers in python", field="checker.language")


def _rule(reference: CodeReference) -> str:
    if reference.mode == "asserts":
        return "json"
    rules = _RULES[reference.mode]
    name = reference.compare or rules[0]
    if name.partition(":")[0] not in rules:
        raise InvalidReference(f"mode {reference.mode} compares by {', '.join(rules)}", field="compare")
    return name


def _limits(reference: CodeReference) -> Limits:
    asked = reference.limits.model_dump() if reference.limits else {}
    limits = Limits().override(**asked)
    try:
        check_limits(limits, CEILINGS)
    except LimitTooHigh as error:
        raise InvalidReference(str(error), field="limits") from error
    return limits


def _mentions_nodes(reference: CodeReference) -> bool:
    return any(_has_key(test.model_dump(), ("$tree", "$list")) for test in reference.tests)


def _has_key(form: Any, keys: tuple[str, ...]) -> bool:
    if isinstance(form, dict):
        return any(key in keys or _has_key(item, keys) for key, item in form.items())
    return isinstance(form, list) and any(_has_key(item, keys) for item in form)


def _expected(reference: CodeReference) -> tuple[tuple[Any, Any], ...]:
    plain = []
    for index, test in enumerate(reference.tests):
        assert isinstance(test, FunctionTest)
        try:
            builder = Builder({})
            for argument in (*test.args, *(test.kwargs or {}).values()):
                builder.build(argument)
            plain.append((_plain(test.expected), _plain(test.check_args)))
        except (ValueError, TypeError, AttributeError, TooLarge, RecursionError) as error:
            raise InvalidReference("a typed value does not build", field=f"tests.{index}") from error
    return tuple(plain)


def _plain(form: Any) -> Any:
    """An expected value as the codec would bring it back."""
    return _flattened(Builder({}).build(form))


def _flattened(value: Any) -> Any:
    if isinstance(value, TreeNode):
        return Tree(_flattened(item) for item in flatten_tree(value))
    if isinstance(value, ListNode):
        return Chain(_flattened(item) for item in flatten_chain(value))
    if isinstance(value, dict):
        return {key: _flattened(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_flattened(item) for item in value)
    Encoder().encode(value)
    return value
