"""Faults of a row that only the sandbox can show, decided before any completion is looked at.

The host must have the row's language; the packages that the prefix imports must be in its environment; its own checker
or interactor must work. Each is tried once per reference. Imports are found by reading the prefix's tokens, since a
prefix may end in the middle of a function; those inside a `try`, or of the standard library, are not tried.
"""

from __future__ import annotations

import io
import sys
import tokenize
from collections.abc import Iterator

from assay.sandbox import Limits, MissingLanguage
from assay.verifiers.code import checkers
from assay.verifiers.code.runs import RowRun
from assay.verifiers.errors import InvalidReference, UnsupportedLanguage
from assay.verifiers.sandboxing import run_on_values

_FINDS = """
import importlib.util, json, os, sys
given = json.loads(sys.stdin.buffer.read())
def missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return True
with os.fdopen(3, "w") as frame:
    json.dump([name for name in given["inputs"] if missing(name)], frame)
"""
_LIMITS = Limits(wall_s=20.0)
_MOST_TRIED = 64


def require_row(row_run: RowRun) -> None:
    """Raise `InvalidReference` or `UnsupportedLanguage` if no program could pass because of the row or the host.

    Raises `SandboxError` as the slot does.
    """
    reference = row_run.spec.reference
    try:
        row_run.slot.toolchain(reference.language)
        if reference.language == "python" and reference.prefix:
            _require_imports(row_run, reference.prefix, reference.env)
        if reference.checker is not None or reference.interactor is not None:
            checkers.require_working(row_run)
    except MissingLanguage as error:
        raise UnsupportedLanguage(str(error), field="language") from error


def _require_imports(row_run: RowRun, prefix: str, environment: str) -> None:
    known = row_run.spec.missing_imports
    if environment not in known:
        names = sorted({name for name in imported(prefix) if name not in sys.stdlib_module_names})[:_MOST_TRIED]
        known[environment] = _missing(row_run, names, environment) if names else ()
    if known[environment]:
        named = ", ".join(known[environment])
        raise InvalidReference(f"the environment {environment} has no {named[:200]}", field="prefix")


def _missing(row_run: RowRun, names: list[str], environment: str) -> tuple[str, ...]:
    ran = run_on_values(
        _FINDS, "", names, limits=_LIMITS, environment=environment, owner=row_run.owner, open_slot=lambda: row_run.slot
    )
    return tuple(map(str, ran.value)) if isinstance(ran.value, list) else ()


def imported(source: str) -> Iterator[str]:
    """Yield the top-level names of the modules that a source imports in lines without indentation."""
    line: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NEWLINE:
                yield from _of_line(line)
                line = []
            elif token.type in (tokenize.NAME, tokenize.OP):
                line.append(token)
    except (tokenize.TokenError, SyntaxError):
        return  # the prefix ends inside a function, a bracket or a string: what came before has been read


def _of_line(line: list[tokenize.TokenInfo]) -> Iterator[str]:
    """Yield the modules of one logical line: `import a.b as c, d` or `from a.b import c`."""
    if not line or line[0].start[1] != 0 or line[0].string not in ("import", "from"):
        return
    words = [token.string for token in line]
    if words[0] == "from":
        yield from (words[1],) if len(words) > 1 and words[1].isidentifier() else ()
        return
    starts = [1, *(at + 1 for at, word in enumerate(words) if word == ",")]
    yield from (words[at] for at in starts if at < len(words) and words[at].isidentifier())
