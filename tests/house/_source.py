"""The product's source as the tests of this folder see it: files, modules and what they import."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = ("client", "verifiers", "sandbox", "service", "trainer_adapter")


@cache
def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name."""
    found = {}
    for part in PARTS:
        for path in (ROOT / part / "assay").rglob("*.py"):
            if not path.name.endswith("_pb2.py"):
                found[_name(path.relative_to(ROOT / part))] = path
    return found


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text())


def imports(module: str) -> Iterator[str]:
    """Dotted names that a module imports, inside functions too; imports for type checking alone are left out."""
    skipped = {id(node) for block in _type_checking(module) for node in ast.walk(block)}
    for node in ast.walk(tree(module)):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _type_checking(module: str) -> Iterator[ast.If]:
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            yield node


def own_imports(module: str) -> set[str]:
    """The modules of the product that a module imports."""
    found = set()
    for name in imports(module):
        while name and name not in modules():
            name = name.rpartition(".")[0]
        if name:
            found.add(name)
    return found - {module}
