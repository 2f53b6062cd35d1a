"""Reads the public surface off the code."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import tomllib
import typer
from pydantic import BaseModel

from assay.cli import access
from assay.cli.frame import BUILT_IN
from assay.contract import assay_pb2
from assay.contract.item import ITEM_FIELDS
from assay.contract.result import Result
from assay.service.http.app import create_app
from assay.service.settings import Settings

from ._source import ROOT


def surface() -> dict[str, list[str]]:
    return {
        "item": list(ITEM_FIELDS),
        "result": list(Result.model_fields),
        "settings": sorted(settings(Settings)),
        "routes": sorted(routes()),
        "metrics": sorted(metrics()),
        "commands": sorted(commands()),
        "extras": sorted(project()["optional-dependencies"]),
        "grpc": sorted(grpc()),
    }


def settings(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = [kind for kind in _kinds(field.annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)]
        yield prefix + name
        for kind in inner:
            yield from settings(kind, f"{prefix}{name}.")


def _kinds(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__args__", (annotation,))


def routes() -> Iterator[str]:
    for path, operations in create_app(Settings()).openapi()["paths"].items():
        yield from (f"{method.upper()} {path}" for method in operations)


def metrics() -> set[str]:
    texts = [path.read_text() for path in (ROOT / "service/assay/service").rglob("*.py")]
    return {name for text in texts for name in re.findall(r'"(assay_[a-z_]+)"', text)}


def commands() -> Iterator[str]:
    targets = {name: target for name, (target, _) in BUILT_IN.items()}
    targets |= project()["entry-points"]["assay.commands"]
    for name, target in targets.items():
        module, _, function = target.partition(":")
        if name == "train":  # needs torch
            yield name
            continue
        app = typer.Typer(add_completion=False)
        found = getattr(import_module(module), function)
        if isinstance(found, typer.Typer):
            app = found
        else:
            app.command(name)(found)
        yield from _options(name, typer.main.get_command(app))


def _options(name: str, command: Any) -> Iterator[str]:
    yield name
    for inner_name, inner in getattr(command, "commands", {}).items():
        yield from _options(f"{name} {inner_name}", inner)
    common = access.options() if any(parameter.name == "server" for parameter in command.params) else []
    for parameter in [*command.params, *common]:
        yield from (f"{name} {option}" for option in parameter.opts if option != "--help")


def grpc() -> Iterator[str]:
    for service in assay_pb2.DESCRIPTOR.services_by_name.values():
        yield from (f"{service.full_name}/{method.name}" for method in service.methods)


def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


if __name__ == "__main__":
    print(json.dumps(surface(), indent=1))
