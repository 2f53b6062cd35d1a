"""The frame of the command line: its own commands, and those that other parts bring by entry point.

`assay.commands` maps a name to `module:function` (a typed function, or a `typer.Typer`). Nothing of
them is imported before it is called, so `--help` is quick and works in the base install; what cannot be
imported says which extra to install.
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

from assay.cli.errors import INTERRUPTED, UNFINISHED, UNUSABLE, Unusable
from assay.cli.escape import one_line
from assay.client.errors import AssayError, DeadlineExceeded, Overloaded, ServiceUnavailable

GROUP = "assay.commands"
_LATER = (Overloaded, ServiceUnavailable, DeadlineExceeded)
"""Errors after which the same command may succeed."""

BUILT_IN = {
    "score": ("assay.cli.commands.score:score", "Score the rows of a file."),
    "check": ("assay.cli.commands.check:check", "Score rows that carry what is expected of them."),
    "explain": ("assay.cli.commands.explain:explain", "Say why one completion gets its reward."),
    "verifiers": ("assay.cli.commands.verifiers:verifiers", "List the verifiers of the engine."),
    "demo": ("assay.cli.commands.demo:demo", "Score a bundled sample of real completions."),
}
EXTRAS = {
    "serve": ("assay[service]", "Run the scoring service."),
    "doctor": ("assay[verify]", "Say what this host can run, and how well isolated."),
    "run": ("assay[verify]", "Run one program in the sandbox."),
    "adapt": ("assay", "Print the lines that plug a trainer in."),
    "rows": ("assay", "Turn a published dataset into rows."),
    "audit": ("assay[verify]", "Find what is wrong with rows before a run does."),
    "rescore": ("assay[verify]", "Judge stored results again with today's verifiers."),
    "diff": ("assay", "Say which verdicts changed between two files of results."),
    "curate": ("assay", "Turn verified rollouts into the next stage's data."),
    "passk": ("assay", "pass@k and maj@k per source, with confidence intervals."),
    "train": ("assay[train]", "Train with GRPO."),
}
"""Commands of other parts: the extra that brings what they import, and a line of help."""


class Lazy(TyperCommand):
    """A command that is imported when it is called."""

    def __init__(self, name: str, load: Callable[[], Any], summary: str) -> None:
        super().__init__(name, help=summary)
        self._load = load

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the real command."""
        return self._real().make_context(info_name, args, parent=parent, **extra)

    def _real(self) -> Any:
        target = self._load()
        if not isinstance(target, typer.Typer):
            app = typer.Typer(add_completion=False)
            app.command(self.name)(target)
            target = app
        return typer.main.get_command(target)


class Frame(TyperGroup):
    """All commands, each a name and a promise."""

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
    """Score what models wrote, with verdicts that can be trusted: a reward, or an honest no verdict."""


def main() -> None:
    """The command line. Exits 0, 1 (`check` differs), 2 (unusable), 3 (unfinished), 130 (interrupted)."""
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
