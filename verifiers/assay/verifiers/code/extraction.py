"""Which part of a completion is the program.

`last_fence`: the content of the last code fence after the thinking that can hold a program of the
row's language: its info string is empty, names that language, or names no known language. If that fence
never closes, there is no answer. (`whole` takes the whole scored text, thinking included.)
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.verifiers.extract.fences import Fence, iter_fences, outdented

_TAGS = {
    "python": {"python", "py", "python3", "py3", "python2", "cpython", "pypy", "pypy3"},
    "c": {"c", "c11", "c17", "c99"},
    "cpp": {"cpp", "c++", "cxx", "cc", "cpp17", "cpp20", "c++17", "c++20"},
    "javascript": {"javascript", "js", "node", "nodejs", "mjs"},
    "bash": {"bash", "sh", "shell", "zsh"},
    "java": {"java"},
    "go": {"go", "golang"},
    "rust": {"rust", "rs"},
    "csharp": {"csharp", "cs", "c#"},
    "typescript": {"typescript", "ts"},
    "ruby": {"ruby", "rb"},
    "php": {"php"},
    "r": {"r", "rscript"},
    "lua": {"lua"},
    "perl": {"perl", "pl"},
    "kotlin": {"kotlin", "kt", "kts"},
    "scala": {"scala"},
}
_OTHER_TAGS = """
text txt plaintext plain output input stdin stdout console json yaml xml html css markdown md diff latex tex
math pseudocode sql csv log mermaid
"""
_NOT_PROGRAMS = frozenset(_OTHER_TAGS.split())


@dataclass(frozen=True)
class Program:
    """Extracted code and where it stands in the text that is scored."""

    code: str
    span: tuple[int, int]


def last_fence(text: str, language: str) -> Program | None:
    """The last fence that can hold a program of `language`; None if there is none or it never closes."""
    found: Fence | None = None
    for fence in iter_fences(text):
        if _may_hold(fence.tag, language):
            found = fence
    if found is None or found.end is None:
        return None
    return Program(outdented(text[found.start : found.end], found.indent), (found.start, found.end))


def _may_hold(tag: str, language: str) -> bool:
    if not tag or tag in _TAGS.get(language, ()):
        return True
    return tag not in _NOT_PROGRAMS and not any(tag in tags for tags in _TAGS.values())
