"""Write the pages that are generated from the code: the references of every verifier, and the service's settings.

    python tools/docs.py [FOLDER]     default: docs

A test asserts that the committed pages are up to date.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from assay.service.settings import Settings
from assay.verifiers.registry import Registry

ROOT = Path(__file__).parents[1]


def main(folder: Path) -> None:
    """Write all pages."""
    (folder / "references.md").write_text("\n".join(references()) + "\n")
    (folder / "settings.md").write_text("\n".join(settings()) + "\n")


REFERENCES = """# References

The fields of each verifier's reference. Generated from the models (`make docs`); an unknown key, mode or name refuses
the row. `assay verifiers NAME` prints the JSON schema.
"""

SETTINGS = """# Settings of `assay serve`

Generated from the settings class (`make docs`). The command line takes precedence over `ASSAY_` variables, and these
over the TOML file named by `--config` or `ASSAY_CONFIG`. Lists are written as JSON in variables.

| TOML | variable | default | meaning |
|---|---|---|---|"""


def references() -> Iterator[str]:
    """Yield one section per verifier, from the JSON schema that `/v1/verifiers` publishes."""
    yield REFERENCES
    for info in sorted(Registry().describe(), key=lambda info: info.name):
        yield f"## {info.name}@{info.version}\n\n{info.summary}\n"
        yield from _model(info.reference, info.reference.get("$defs", {}))


def _model(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    yield from _table(schema)
    for name, definition in definitions.items():
        if "properties" in definition:
            yield f"### {name}\n\n{_cell(definition.get('description', ''))}\n"
            yield from _table(definition)


def _table(schema: Mapping[str, Any]) -> Iterator[str]:
    yield "| field | type | default | meaning |\n|---|---|---|---|"
    required = schema.get("required", [])
    for name, field in schema.get("properties", {}).items():
        default = "required" if name in required else f"`{field.get('default')}`"
        yield f"| `{name}` | {_cell(_kind(field))} | {_cell(default)} | {_cell(field.get('description', ''))} |"
    yield ""


def _kind(field: Mapping[str, Any]) -> str:
    if "anyOf" in field or "oneOf" in field:
        kinds = [_kind(option) for option in field.get("anyOf", field.get("oneOf", []))]
        return " or ".join(kind for kind in dict.fromkeys(kinds) if kind != "null")
    if "enum" in field:
        return " ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if "$ref" in field:
        return f"{field['$ref'].rsplit('/', 1)[-1]}"
    if field.get("type") == "array":
        return f"array of {_kind(field.get('items', {}))}"
    return str(field.get("type", "any"))


def settings() -> Iterator[str]:
    """Yield all settings of `assay serve` with their variables."""
    yield SETTINGS
    yield from _settings(Settings, "", "ASSAY_")


def _settings(model: type[BaseModel], path: str, variable: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = _inner(field)
        if inner is not None:
            yield from _settings(inner, f"{path}{name}.", f"{variable}{name.upper()}__")
            continue
        default = "the cores" if field.default_factory else "needed" if field.is_required() else f"`{field.default}`"
        yield f"| `{path}{name}` | `{variable}{name.upper()}` | {default} | {_cell(field.description or '')} |"


def _inner(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a table of settings that has no description of its own, which names another page."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, BaseModel) and not field.description:
            return kind
    return None


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
