"""Additional contract types for import-linter (`[tool.importlinter]` in pyproject.toml)."""

from __future__ import annotations

from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class PrivateModules(Contract):  # type: ignore[misc]
    """No package of `assay` imports a private (underscore) module of another package."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Collect the imports that cross a package's border into a private module."""
        found = [
            (importer, imported)
            for imported in graph.modules
            if _is_private(imported)
            for importer in graph.find_modules_that_directly_import(imported)
            if _package(importer) != _package(imported)
        ]
        return ContractCheck(kept=not found, metadata={"found": sorted(found)})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print the imports."""
        pairs: list[tuple[str, str]] = check.metadata["found"]
        for importer, imported in pairs:
            output.print_error(f"{importer} imports {imported}")


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _is_private(module: str) -> Any:
    return module.startswith("assay.") and any(part.startswith("_") for part in module.split("."))
