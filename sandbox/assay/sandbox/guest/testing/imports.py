"""Decide what each import of test code refers to: an installed module, a missing package, or the program.

A module that is not installed refers to the program (`from solution import f`), unless it is a well-known package:
then the row is at fault. A module of the standard library that has none of the imported names (`from code import f`)
refers to the program too.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator

PROGRAM = "solution"
_PACKAGES = """
numpy pandas scipy sympy sklearn torch torchvision tensorflow keras jax matplotlib seaborn plotly networkx
statsmodels PIL cv2 skimage nltk spacy transformers requests httpx aiohttp urllib3 flask fastapi starlette django
sqlalchemy redis boto3 botocore yaml bs4 lxml dateutil pytz tzlocal pydantic attr attrs cattr marshmallow
typer tqdm colorama psutil cryptography jwt openpyxl xlrd docx jinja2 markdown simplejson ujson orjson
nose nose2 hamcrest assertpy parameterized ddt faker freezegun time_machine responses
requests_mock httpretty respx moto testfixtures hypothesis pytest_asyncio pytest_mock pytest_benchmark
pytest_lazyfixture pytest_httpx pytest_check snapshottest tox numba cython gmpy2 mpmath
sortedcontainers more_itertools toolz cytoolz pyparsing chardet unidecode levenshtein Levenshtein fuzzywuzzy
rapidfuzz shapely geopandas polars pyarrow dask xarray h5py anyio trio pytest_trio gevent twisted tornado zope
kubernetes pymongo psycopg2 MySQLdb paramiko selenium playwright scrapy
"""
PACKAGES = frozenset(_PACKAGES.split())
"""Packages that test code means by these names: where the environment lacks one, the row is at fault."""
KNOWN = {
    **{name: name for name in (
        "math", "cmath", "pytest", "unittest", "itertools", "collections", "re", "json", "random", "string", "datetime",
        "time", "sys", "os", "functools", "operator", "copy", "decimal", "fractions", "statistics", "io", "contextlib",
        "warnings", "logging", "inspect", "types", "typing", "dataclasses", "enum", "heapq", "bisect", "asyncio",
        "threading", "tempfile", "pathlib", "shutil", "subprocess", "textwrap", "traceback", "uuid", "hashlib",
        "base64", "pickle", "csv", "calendar", "abc", "struct", "numpy", "pandas", "sympy", "scipy", "torch",
    )},
    "np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot", "nx": "networkx", "sp": "sympy", "mock": "unittest.mock",
    "sns": "seaborn", "tf": "tensorflow",
}  # fmt: skip
"""Modules by the names that test code gives them."""


class Imports:
    """What the nodes of some test code import."""

    def __init__(self, nodes: list[ast.AST]) -> None:
        optional = {id(child) for node in nodes if isinstance(node, ast.Try) for child in _optional_imports(node)}
        self.modules: set[str] = set()
        """Modules that stand for the program."""
        self.taken: set[str] = set()
        """Names that the tests take from those."""
        self.attributes: set[str] = set()
        """Names of attributes: of the program's, where the tests import it as a module under whatever name."""
        self.lacking: str | None = None
        for node in nodes:
            for name, attributes in _imported(node):
                if name == "__main__":
                    self.taken |= set(attributes)
                elif _is_program(name, attributes):
                    self._add(name, attributes, optional=id(node) in optional)
        self.taken.discard("*")
        names = {part for name in self.modules for part in name.split(".")} | _aliases(nodes, self.modules)
        for node in nodes:
            if isinstance(node, ast.Attribute) and self.modules:
                (self.taken if _root(node) in names else self.attributes).add(node.attr)

    def _add(self, name: str, attributes: list[str], *, optional: bool) -> None:
        if name.partition(".")[0] in PACKAGES:
            self.lacking = self.lacking or (None if optional else name.partition(".")[0])
            return
        self.modules.add(name)
        self.taken |= set(attributes)


def _optional_imports(node: ast.Try) -> Iterator[ast.AST]:
    """Yield the nodes of a `try` whose import errors are caught: the tests can do without these imports."""
    names = {ast.unparse(handler.type) if handler.type else "" for handler in node.handlers}
    if (
        any(word in name for name in names for word in ("ImportError", "ModuleNotFoundError", "Exception"))
        or "" in names
    ):
        yield from (child for statement in node.body for child in ast.walk(statement))


def _imported(node: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """(module, names taken from it) of an import statement, `import_module` or `__import__`."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, []) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or PROGRAM if node.level else node.module or ""
        yield module, [alias.name for alias in node.names]
    elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__"):
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value, []


def _is_program(name: str, attributes: list[str]) -> bool:
    """Whether the module means the program (or a package that is missing)."""
    top = name.partition(".")[0]
    if top == "mock":
        return False
    if name not in sys.modules and _spec(top) is None:
        return True
    return top in sys.stdlib_module_names and bool(attributes) and not _has_any(name, attributes)


def _spec(name: str) -> object:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _has_any(name: str, attributes: list[str]) -> bool:
    try:
        module = importlib.import_module(name)
    except ImportError:
        return False
    return any(each == "*" or hasattr(module, each) or _spec(f"{name}.{each}") is not None for each in attributes)


def _aliases(nodes: list[ast.AST], modules: set[str]) -> set[str]:
    """Names by which modules that stand for the program are known."""
    return {
        alias.asname
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if alias.asname and (alias.name in modules or getattr(node, "module", None) in modules)
    }


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def missing_imports(tree: ast.Module, unbound: set[str]) -> dict[str, str]:
    """Return well-known modules that test code uses without importing them, by the name it uses.

    A name counts if it is unbound and every use of it is that of a module (`name.attribute`).
    """
    uses: dict[str, int] = {}
    dotted: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            uses[node.id] = uses.get(node.id, 0) + 1
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            dotted[node.value.id] = dotted.get(node.value.id, 0) + 1
    return {name: KNOWN[name] for name in unbound & KNOWN.keys() if 0 < uses.get(name, 0) <= dotted.get(name, 0)}
