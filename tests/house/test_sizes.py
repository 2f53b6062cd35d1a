"""Sizes: a file holds one concept, a function one step."""

import ast

import pytest

from ._source import ROOT, modules, tree

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
FORMAT_EXEMPTIONS = 40
"""Tables of data whose columns the formatter would break."""


def test_no_file_is_longer_than_its_bound() -> None:
    long = {
        name: lines for name, path in modules().items() if (lines := len(path.read_text().splitlines())) > LONGEST_FILE
    }
    assert not long


def test_no_function_is_longer_than_its_bound() -> None:
    long = {
        (name, node.name): node.end_lineno - node.lineno
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and _body_lines(node) > LONGEST_FUNCTION
    }
    assert not long


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without those of the functions and classes that it defines."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nested = [child for child in ast.walk(node) if isinstance(child, inner) and child is not node]
    return (node.end_lineno or 0) - node.lineno - sum((n.end_lineno or 0) - n.lineno for n in nested)


def _parts() -> list[str]:
    return ["client", "verifiers", "sandbox", "service", "trainer_adapter"]


@pytest.mark.parametrize("part", _parts())
def test_the_formatter_is_rarely_switched_off(part: str) -> None:
    count = sum(path.read_text().count("fmt: skip") for path in (ROOT / part).rglob("*.py"))
    assert count <= FORMAT_EXEMPTIONS
