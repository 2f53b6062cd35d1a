"""Fixtures for tests that share a process and a disk with the program (`trust: low`): `monkeypatch`, `tmp_path`.

Elsewhere a row that needs one is refused: what a test patches or writes would not reach the program.
Not covered: `tmpdir` and `testdir`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

_UNSET: Any = object()


class MonkeyPatch:
    """As `pytest.MonkeyPatch`: changes that `undo` takes back, the newest first."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    @classmethod
    @contextlib.contextmanager
    def context(cls) -> Iterator[MonkeyPatch]:
        """A patch that is undone where the block ends."""
        patch = cls()
        try:
            yield patch
        finally:
            patch.undo()

    def setattr(self, target: Any, name: Any, value: Any = _UNSET, raising: bool = True) -> None:
        """`setattr(object, "name", value)` or `setattr("module.name", value)`. Raises `AttributeError`."""
        if value is _UNSET:
            (target, name), value = _resolved(target), name
        old = getattr(target, name, _UNSET)
        if raising and old is _UNSET:
            raise AttributeError(f"{target!r} has no attribute {name!r}")
        self._attribute(target, name, old)
        setattr(target, name, value)

    def delattr(self, target: Any, name: Any = _UNSET, raising: bool = True) -> None:
        """`delattr(object, "name")` or `delattr("module.name")`. Raises `AttributeError`."""
        if name is _UNSET:
            target, name = _resolved(target)
        if not hasattr(target, name):
            if raising:
                raise AttributeError(name)
            return
        self._attribute(target, name, getattr(target, name))
        delattr(target, name)

    def _attribute(self, target: Any, name: str, old: Any) -> None:
        if inspect.isclass(target):
            old = vars(target).get(name, _UNSET)  # its own, not what it inherits, and no bound method
        self._undo.append(lambda: delattr(target, name) if old is _UNSET else setattr(target, name, old))

    def setitem(self, mapping: MutableMapping[Any, Any], name: Any, value: Any) -> None:
        """`mapping[name] = value`."""
        self._item(mapping, name)
        mapping[name] = value

    def delitem(self, mapping: MutableMapping[Any, Any], name: Any, raising: bool = True) -> None:
        """`del mapping[name]`. Raises `KeyError`."""
        if name not in mapping:
            if raising:
                raise KeyError(name)
            return
        self._item(mapping, name)
        del mapping[name]

    def _item(self, mapping: MutableMapping[Any, Any], name: Any) -> None:
        old = mapping.get(name, _UNSET)

        def undo() -> None:
            if old is _UNSET:
                mapping.pop(name, None)
            else:
                mapping[name] = old

        self._undo.append(undo)

    def setenv(self, name: str, value: Any, prepend: str | None = None) -> None:
        """Set a variable of the environment, or put `value` before what it holds."""
        if prepend and name in os.environ:
            value = f"{value}{prepend}{os.environ[name]}"
        self.setitem(os.environ, name, str(value))

    def delenv(self, name: str, raising: bool = True) -> None:
        """Remove a variable of the environment. Raises `KeyError`."""
        self.delitem(os.environ, name, raising)

    def syspath_prepend(self, path: Any) -> None:
        """Let modules be imported from `path`."""
        old = list(sys.path)
        self._undo.append(lambda: sys.path.__setitem__(slice(None), old))
        sys.path.insert(0, str(path))
        importlib.invalidate_caches()

    def chdir(self, path: Any) -> None:
        """Make `path` the working folder."""
        old = os.getcwd()
        self._undo.append(lambda: os.chdir(old))
        os.chdir(path)

    def undo(self) -> None:
        """Take back every change."""
        while self._undo:
            self._undo.pop()()


def _resolved(path: Any) -> tuple[Any, str]:
    """The object and the attribute's name that `package.module.Class.name` means."""
    if not isinstance(path, str) or "." not in path:
        raise TypeError(f"must be absolute import path string, not {path!r}")
    parent, _, name = path.rpartition(".")
    parts = parent.split(".")
    found = importlib.import_module(parts[0])
    for end in range(1, len(parts)):
        if not hasattr(found, parts[end]):
            importlib.import_module(".".join(parts[: end + 1]))
        found = getattr(found, parts[end])
    return found, name


class TempPathFactory:
    """As `pytest.TempPathFactory`."""

    def __init__(self) -> None:
        self._base = pathlib.Path(tempfile.gettempdir()) / "pytest"
        self._base.mkdir(mode=0o700, exist_ok=True)

    def getbasetemp(self) -> pathlib.Path:
        """Where all folders of tests are."""
        return self._base

    def mktemp(self, basename: str, numbered: bool = True) -> pathlib.Path:
        """A new, empty folder; without `numbered` of just that name. Raises `FileExistsError`."""
        names = (f"{basename}{number}" for number in itertools.count()) if numbered else iter([basename])
        folder = next(path for path in map(self._base.joinpath, names) if not numbered or not path.exists())
        folder.mkdir(mode=0o700)
        return folder


def _patching(stack: contextlib.ExitStack) -> MonkeyPatch:
    return stack.enter_context(MonkeyPatch.context())


def _folder(stack: contextlib.ExitStack) -> pathlib.Path:
    return TempPathFactory().mktemp("test")


TOGETHER: dict[str, Callable[[contextlib.ExitStack], Any]] = {
    "monkeypatch": _patching, "tmp_path": _folder, "tmp_path_factory": lambda stack: TempPathFactory(),
}  # fmt: skip
