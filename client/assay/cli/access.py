"""Options of every command that has `--server`: the API key's file, and the files of TLS.

    assay score rows.jsonl --server https://host:8700 --api-key-file my.key --ca-file ca.pem

They are added to a command when it is loaded (`frame`), so that no command repeats them; `connect` reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.errors import Unusable

given: dict[str, str] = {}
"""What the options of this command line say, as options of the client."""


def _access(
    api_key: Annotated[
        str | None,
        typer.Option("--api-key-file", metavar="FILE", help="File with the service's API key. Default: ASSAY_API_KEY."),
    ] = None,
    ca_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="PEM authority to trust. Default: ASSAY_CA_FILE, or the system's."),
    ] = None,
    client_cert: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="PEM certificate to show the service. Default: ASSAY_CLIENT_CERT."),
    ] = None,
    client_key: Annotated[
        str | None, typer.Option(metavar="FILE", help="PEM key of that certificate. Default: ASSAY_CLIENT_KEY.")
    ] = None,
) -> None:
    """Hold the options, from which `options` takes them."""


def options() -> list[Any]:
    """Return the options, for the parameters of a command. They record their values in `given`."""
    app = typer.Typer(add_completion=False)
    app.command()(_access)
    parameters: list[Any] = [one for one in typer.main.get_command(app).params if one.name != "help"]
    for parameter in parameters:
        parameter.expose_value, parameter.callback = False, _record
    return parameters


def _record(context: Any, option: Any, value: str | None) -> None:
    if value is None:
        given.pop(option.name, None)
    else:
        given[option.name] = _key(value) if option.name == "api_key" else value


def _key(name: str) -> str:
    """Return the key in a file. Raises `Unusable`, which never holds what is in it."""
    try:
        lines = [line.strip() for line in Path(name).read_text("ascii").splitlines() if line.strip()]
    except OSError as error:
        raise Unusable(f"--api-key-file {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Unusable(f"--api-key-file {name}: a key is of visible ASCII characters") from None
    if len(lines) != 1 or " " in lines[0]:
        raise Unusable(f"--api-key-file {name}: it must hold one line, the key")
    return lines[0]
