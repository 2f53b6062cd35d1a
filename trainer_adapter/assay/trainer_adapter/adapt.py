"""`assay adapt TRAINER`: print the lines that connect a trainer, for a verifier and a dataset's columns.

    assay adapt trl --verifier math --columns question,answer
    assay adapt verl --verifier code --reference '{"language": "c", "mode": "stdio", "tests": "{ground_truth!json}"}'

The output is for pasting. docs/trainers.md contains the same lines, and a test runs them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from assay.client import ConfigurationError
from assay.client.templates import MissingColumn, RowFault, read_json, template
from assay.trainer_adapter.rows import plain

ANSWERS = ("answer", "expected_answer", "final_answer", "solution", "ground_truth", "label", "target", "gold")
"""Usual names of a column with the right answer."""
URL = "http://scorer:8700"


@dataclass(frozen=True)
class Setup:
    """The values that the lines are made from."""

    verifier: str
    reference: Any
    url: str


def _trl(setup: Setup) -> str:
    return f"""\
from assay.trainer_adapter.trl import AssayReward

reward = AssayReward({_python(setup.verifier)}, {_python(setup.reference)}, url={_python(setup.url)})
# trainer = GRPOTrainer(..., reward_funcs=[reward])"""


def _openrlhf(setup: Setup) -> str:
    return f"""\
# my_reward.py, for --reward.remote_url /path/to/my_reward.py
from assay.trainer_adapter.openrlhf import make_reward_func

reward_func = make_reward_func({_python(setup.verifier)}, {_python(setup.reference)}, url={_python(setup.url)})"""


def _verl(setup: Setup) -> str:
    own = "+reward.custom_reward_function.reward_kwargs"
    values = {"verifier": setup.verifier, "reference": setup.reference, "url": setup.url}
    lines = [
        "reward.custom_reward_function.path=pkg://assay.trainer_adapter.verl",
        "reward.custom_reward_function.name=compute_score",
        *(f"{own}.{name}={_hydra(value)}" for name, value in values.items()),
    ]
    return " \\\n".join(shlex.quote(line) for line in lines)


def _compat(name: str, flags: str) -> Callable[[Setup], str]:
    def lines(setup: Setup) -> str:
        return f"""\
# assay.toml, for `assay serve --config assay.toml`
[wires.{name}]
verifier = {_toml(setup.verifier)}
reference = {_toml(setup.reference)}
# {flags.format(url=setup.url)}"""

    return lines


TRAINERS: Mapping[str, tuple[Callable[[Setup], str], Sequence[str]]] = {
    "trl": (_trl, ()),
    "verl": (_verl, ("data_source", "ground_truth", "extra_info")),
    "openrlhf": (_openrlhf, ("label", "prompt", "query")),
    "openrlhf-url": (_compat("openrlhf", "--reward.remote_url {url}/get_reward"), ("label", "prompt", "query")),
    "slime": (_compat("slime", "--rm-type remote_rm --rm-url {url}/slime"), ("label", "prompt", "response")),
    "nemo-gym": (_compat("nemo_gym", "a resources server at {url}"), ()),
}
"""The template of each trainer, and its own columns if it does not pass the dataset's columns through."""


def adapt(
    trainer: Annotated[str, typer.Argument(help=", ".join(TRAINERS))],
    verifier: Annotated[str, typer.Option(help="Name of the verifier.")] = "math",
    columns: Annotated[str, typer.Option(help="The dataset's columns, separated by commas.")] = "",
    reference: Annotated[str | None, typer.Option(help="Template of the reference, as JSON.")] = None,
    url: Annotated[str, typer.Option(help="URL of the service, or embedded:.")] = URL,
) -> None:
    """Print the lines that connect a trainer."""
    given = tuple(name.strip() for name in columns.split(",") if name.strip())
    print(lines(trainer, verifier=verifier, columns=given, reference=reference, url=url))


def lines(
    trainer: str, *, verifier: str = "math", columns: Sequence[str] = (), reference: str | None = None, url: str = URL
) -> str:
    """Return the lines. Raises `ConfigurationError` for an unknown trainer or column, or a reference that is not
    JSON.
    """
    if trainer not in TRAINERS:
        raise ConfigurationError(f"unknown trainer; the trainers are {', '.join(TRAINERS)}")
    if not (verifier + url).isprintable() or any(0xD800 <= ord(char) <= 0xDFFF for char in reference or ""):
        raise ConfigurationError("the verifier, URL or reference contains a character that cannot be encoded")
    write, own = TRAINERS[trainer]
    known = tuple(own) or tuple(columns)
    return write(Setup(verifier, _reference(reference, known), url))


def _reference(text: str | None, columns: Sequence[str]) -> Any:
    if text is None:
        found = [name for name in ANSWERS if name in columns]
        if columns and not found:
            raise ConfigurationError(f'which column holds the answer? --reference \'{{"answer": "{{{columns[0]}}}"}}\'')
        return {"answer": f"{{{found[0] if found else 'answer'}}}"}
    try:
        reference = plain(read_json(text))
    except RowFault:
        raise ConfigurationError("--reference: a number has more digits than a float holds; write it as text") from None
    except (ValueError, RecursionError):
        raise ConfigurationError("--reference is not JSON") from None
    _check(reference, columns)
    return reference


def _check(reference: Any, columns: Sequence[str]) -> None:
    """Raise `ConfigurationError` if a placeholder names an unknown column. Paths inside columns are not checked."""
    fill = template(reference)
    try:
        if columns:
            fill(dict.fromkeys(columns, "0"))
    except MissingColumn:
        raise
    except RowFault:
        return


def _python(value: Any) -> str:
    """Return a value as Python source, with strings in double quotes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_python(key)}: {_python(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_python, value)) + "]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """Return a string in double quotes, with the escapes that Python and TOML share; invisible characters are
    escaped.
    """
    return '"' + "".join(map(_char, text)) + '"'


def _char(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    code = ord(char)
    return char if char.isprintable() else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_HYDRA_KEY = re.compile(r"(?!(?:true|false|null|nan|inf)$)[A-Za-z_$][\w$.-]*", re.ASCII | re.IGNORECASE)


def _hydra(value: Any) -> str:
    """Return a value in Hydra's override grammar: bare keys, strings in double quotes, interpolations escaped.

    Raises `ConfigurationError` for a key that the grammar cannot express.
    """
    if isinstance(value, Mapping):
        wrong = [key for key in value if not _HYDRA_KEY.fullmatch(key)]
        if wrong:
            raise ConfigurationError(f"Hydra cannot express the key {wrong[0]!r}; use make_compute_score in a file")
        return "{" + ",".join(f"{key}:{_hydra(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_hydra, value)) + "]"
    if isinstance(value, str):
        plain = re.sub(r"(\\*)\$\{", r"\1\1\\${", value)
        return '"' + re.sub(r'(\\*)("|\Z)', _escaped, plain) + '"'
    return json.dumps(value)


def _escaped(match: re.Match[str]) -> str:
    """Double each backslash before a quote; elsewhere backslashes are literal."""
    return match[1] * 2 + ('\\"' if match[2] else "")


_TOML_KEY = re.compile(r"[A-Za-z0-9_-]+")


def _toml(value: Any) -> str:
    """Return a value as inline TOML. Raises `ConfigurationError` for a value that TOML cannot express."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_toml_key(key)} = {_toml(member)}" for key, member in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if value is None:
        raise ConfigurationError("TOML has no null; omit the key")
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _toml_key(key: str) -> str:
    return key if _TOML_KEY.fullmatch(key) else _quoted(key)
