"""The root of the command line: built-in commands, and commands of other packages found by entry point.

The group `assay.commands` maps a name to `module:function` (a typed function, or a `typer.Typer`). A command's module
is imported only when it is called, so `--help` is fast and works in the base install. If the import fails, the message
says which extra to install.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from assay.cli import access
from assay.cli.errors import INTERRUPTED, UNFINISHED, UNUSABLE, Unusable
from assay.cli.escape import one_line
from assay.client.errors import AssayError, DeadlineExceeded, Overloaded, ServiceUnavailable

GROUP = "assay.commands"
_LATER = (Overloaded, ServiceUnavailable, DeadlineExceeded)
"""Errors after which the same command may succeed later."""

BUILT_IN = {
    "score": ("assay.cli.commands.score:score", "Score the rows of a file."),
    "check": ("assay.cli.commands.check:check", "Score rows with an expected result and report differences."),
    "explain": ("assay.cli.commands.explain:explain", "Explain why one completion gets its reward."),
    "verifiers": ("assay.cli.commands.verifiers:verifiers", "List the verifiers of the engine."),
    "invalidate": ("assay.cli.commands.invalidate:invalidate", "Drop cached verdicts of a service."),
    "demo": ("assay.cli.commands.demo:demo", "Score a bundled sample of real completions."),
}
EXTRAS = {
    "serve": ("assay[service]", "Run the scoring service."),
    "doctor": ("assay[verify]", "Report what this host can run, and with which isolation."),
    "run": ("assay[verify]", "Run one program in the sandbox."),
    "adapt": ("assay", "Print the lines that connect a trainer."),
    "rows": ("assay", "Turn a published dataset into rows."),
    "audit": ("assay[verify]", "Find faults of rows before training."),
    "rescore": ("assay[verify]", "Score stored results again with the current verifiers."),
    "diff": ("assay", "List the verdicts that differ between two files of results."),
    "curate": ("assay", "Turn verified rollouts into training data."),
    "passk": ("assay", "Compute pass@k and maj@k per source, with confidence intervals."),
    "train": ("assay[train]", "Train with GRPO."),
}
"""Commands of other packages: the extra they need, and a help line."""


class Lazy(TyperCommand):
    """A command whose module is imported when it is called."""

    def __init__(self, name: str, load: Callable[[], Any], summary: str) -> None:
        super().__init__(name, help=summary)
        self._load = load

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the real command."""
        return self._real().make_context(info_name, args, parent=parent, **extra)

    def _real(self) -> Any:
        target = self._load()
        if not isinstance(target, typer.Typer):
            app = typer.Typer(add_completion=False)
            app.command(self.name)(target)
            target = app
        command = typer.main.get_command(target)
        if any(parameter.name == "server" for parameter in command.params):
            command.params += access.options()
        return command


class Frame(TyperGroup):
    """The group of all commands."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        for name, (target, summary) in BUILT_IN.items():
            self.commands[name] = Lazy(name, _importer(target), summary)
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            if entry.name not in BUILT_IN:
                summary = EXTRAS.get(entry.name, ("", ""))[1]
                self.commands[entry.name] = Lazy(entry.name, _loader(entry), summary)


def _importer(target: str) -> Callable[[], Any]:
    module, _, function = target.partition(":")
    return lambda: getattr(import_module(module), function)


def _loader(entry: EntryPoint) -> Callable[[], Any]:
    def load() -> Any:
        try:
            return entry.load()
        except ImportError as error:
            extra = EXTRAS.get(entry.name, ("its extra", ""))[0]
            advice = f"pip install '{extra}' (Python >= 3.12)"
            raise Unusable(f"`assay {entry.name}` needs {extra}: {advice} ({error})") from error

    return load


app = typer.Typer(cls=Frame, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


def _version(asked: bool) -> None:
    if asked:
        print(f"assay {version('assay')}")
        raise typer.Exit


@app.callback()
def frame(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Score completions with verifiers. Each gets a reward, or an explicit *no verdict*."""


def main() -> None:
    """Run the command line. Exits with 0, 1 (`check` differs), 2 (unusable), 3 (unfinished), 130 (interrupted)."""
    try:
        app()
    except (AssayError, Unusable) as error:
        print(f"assay: {one_line(str(error), limit=1000)}", file=sys.stderr)
        sys.exit(UNFINISHED if isinstance(error, _LATER) else UNUSABLE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(UNUSABLE)
