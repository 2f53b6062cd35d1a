"""The registry of verifiers: built-ins by name, imported on first use, and the plugins named in the settings.

A plugin is a path to a Python file, a module name, or the name of an entry point in the group `assay.verifiers`. It may
define several verifiers; none may reuse an existing name.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from assay.contract.envelope import VerifierInfo
from assay.verifiers.base import Verifier

BUILT_IN: dict[str, str] = {
    "code": "assay.verifiers.code:CodeVerifier",
    "composite": "assay.verifiers.composite:CompositeVerifier",
    "exact": "assay.verifiers.exact:ExactVerifier",
    "format": "assay.verifiers.format:FormatVerifier",
    "given": "assay.verifiers.given:GivenVerifier",
    "math": "assay.verifiers.math:MathVerifier",
    "schema": "assay.verifiers.schema:SchemaVerifier",
    "script": "assay.verifiers.script:ScriptVerifier",
    "similarity": "assay.verifiers.similarity:SimilarityVerifier",
    "tool": "assay.verifiers.tool:ToolVerifier",
}
"""Name -> import path of the class."""

AnyVerifier = Verifier[Any, Any]


class PluginError(Exception):
    """A plugin named in the settings cannot be loaded, defines no verifier, or reuses an existing name."""


class Registry:
    """Verifiers by name. Instances are created once and kept."""

    def __init__(self, plugins: Sequence[str] = ()) -> None:
        self._classes: dict[str, type[AnyVerifier]] = {}
        self._instances: dict[str, AnyVerifier] = {}
        for plugin in plugins:
            self._add(plugin, _classes_of(_load(plugin)))

    def _add(self, plugin: str, classes: Iterable[type[AnyVerifier]]) -> None:
        found = list(classes)
        if not found:
            raise PluginError(f"plugin {plugin} defines no verifier")
        for cls in found:
            if cls.name in BUILT_IN or cls.name in self._classes or "@" in cls.name:
                raise PluginError(f"plugin {plugin}: the name {cls.name!r} is taken or ill-formed")
            self._classes[cls.name] = cls

    def __iter__(self) -> Iterator[str]:
        yield from BUILT_IN
        yield from self._classes

    def get(self, name: str) -> AnyVerifier:
        """Return the verifier of that name. Raises `KeyError`."""
        if name not in self._instances:
            cls = self._class(name)
            self._instances[name] = cls(self) if cls.needs_registry else cls()  # type: ignore[call-arg]
        return self._instances[name]

    def _class(self, name: str) -> type[AnyVerifier]:
        if name not in BUILT_IN:
            return self._classes[name]
        module, _, attribute = BUILT_IN[name].partition(":")
        cls: type[AnyVerifier] = getattr(importlib.import_module(module), attribute)
        return cls

    def describe(self) -> list[VerifierInfo]:
        """Return every verifier with the JSON schema of its reference."""
        return [_describe(self.get(name)) for name in self]


def _describe(verifier: AnyVerifier) -> VerifierInfo:
    return VerifierInfo(
        name=verifier.name,
        version=verifier.version,
        reads=sorted(verifier.reads),
        sandboxed=verifier.sandboxed,
        reference=verifier.reference_model.model_json_schema(by_alias=True),
        summary=(inspect.getdoc(type(verifier)) or "").partition("\n")[0],
    )


def _load(plugin: str) -> ModuleType | type[AnyVerifier]:
    try:
        if plugin.endswith(".py"):
            return _load_file(Path(plugin))
        for entry in entry_points(group="assay.verifiers", name=plugin):
            loaded: ModuleType | type[AnyVerifier] = entry.load()
            return loaded
        return importlib.import_module(plugin)
    except Exception as error:
        raise PluginError(f"plugin {plugin} cannot be loaded: {type(error).__name__}: {error}") from error


def _load_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"assay_plugin_{path.stem}", path.resolve())
    if spec is None or spec.loader is None or not path.is_file():
        raise PluginError(f"no such file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _classes_of(loaded: ModuleType | type[AnyVerifier]) -> Iterator[type[AnyVerifier]]:
    if isinstance(loaded, type):
        yield loaded
        return
    for value in vars(loaded).values():
        if isinstance(value, type) and issubclass(value, Verifier) and _is_own(value, loaded):
            yield value


def _is_own(cls: type[AnyVerifier], module: ModuleType) -> bool:
    """Return whether the class is a concrete verifier defined in this module rather than imported into it."""
    complete = isinstance(getattr(cls, "name", None), str) and not inspect.isabstract(cls)
    return complete and cls.__module__ == module.__name__
