"""A seccomp profile: a data file of lines, assembled into one classic BPF program.

`profiles/x86_64.syscalls` is an allow-list with a line per call. The program is assembled on the host,
travels to the zygote as bytes and is loaded once per jail; every run inherits it. Calls that are
always allowed are answered from the kernel's bitmap, so the length of the list costs nothing.

Not covered: pointers behind arguments (hence `clone3` is refused), architectures other than x86-64.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files

ENOSYS, EPERM = 38, 1
_AUDIT_ARCH_X86_64 = 0xC000003E
_X32_BIT = 0x40000000
_RET_KILL_PROCESS, _RET_ERRNO, _RET_ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_ACTIONS = {"allow": _RET_ALLOW, "eperm": _RET_ERRNO | EPERM, "enosys": _RET_ERRNO | ENOSYS}
_LD, _AND, _JEQ, _JGE, _JGT, _RET = 0x20, 0x54, 0x15, 0x35, 0x25, 0x06
_NR_OFFSET, _ARCH_OFFSET, _ARGS_OFFSET = 0, 4, 16
_LINE = re.compile(r"(allow|eperm|enosys) (\d{1,4}) (\w+)(?: (arg\S+))?$")
_CONDITION = re.compile(r"arg([0-5])(?:&(\w+))?(==|!=)([\w,]+)$")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """`(low 32 bits of argument `arg` & mask)` is (`equal`) or is not one of `values`."""

    arg: int
    mask: int | None
    equal: bool
    values: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What one system call answers; with a condition, EPERM where it does not hold."""

    number: int
    name: str
    action: int
    condition: Condition | None = None


def parse_profile(text: str, *, base: Iterable[Rule] = ()) -> tuple[Rule, ...]:
    """The rules of a profile's text, by number; those of `base` hold where the text says nothing.

    Raises `ValueError` naming a line that does not parse.
    """
    rules: dict[int, Rule] = {}
    for line in text.splitlines():
        body = line.partition("#")[0].strip()
        if not body:
            continue
        rule = _parse_line(body)
        if rule.number in rules:
            raise ValueError(f"system call listed twice: {body}")
        rules[rule.number] = rule
    merged = {**{rule.number: rule for rule in base}, **rules}
    return tuple(merged[number] for number in sorted(merged))


def _parse_line(body: str) -> Rule:
    match = _LINE.match(body)
    if match is None:
        raise ValueError(f"not a line of a profile: {body}")
    action, number, name, condition = match.groups()
    return Rule(
        number=int(number),
        name=name,
        action=_ACTIONS[action],
        condition=_parse_condition(condition) if condition else None,
    )


def _parse_condition(text: str) -> Condition:
    match = _CONDITION.match(text)
    if match is None:
        raise ValueError(f"not a condition of a system call: {text}")
    arg, mask, relation, values = match.groups()
    return Condition(
        arg=int(arg),
        mask=int(mask, 0) if mask else None,
        equal=relation == "==",
        values=tuple(int(value, 0) for value in values.split(",")),
    )


def assemble(rules: Iterable[Rule]) -> bytes:
    """An array of `struct sock_filter` for the rules (sorted by number)."""
    return b"".join(_program(tuple(rules)))


def _op(code: int, k: int, jt: int = 0, jf: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jt, jf, k)


def _program(rules: tuple[Rule, ...]) -> Iterator[bytes]:
    yield _op(_LD, _ARCH_OFFSET)
    yield _op(_JEQ, _AUDIT_ARCH_X86_64, 1, 0)
    yield _op(_RET, _RET_KILL_PROCESS)
    yield _op(_LD, _NR_OFFSET)
    yield _op(_JGE, _X32_BIT, 0, 1)
    yield _op(_RET, _RET_KILL_PROCESS)
    for first, last in _ranges(rules):
        yield _op(_JGE, first.number, 0, 2)
        yield _op(_JGT, last.number, 1, 0)
        yield _op(_RET, first.action)
    for rule in rules:
        if rule.condition is not None:
            yield from _conditional(rule, rule.condition)
    yield _op(_RET, _ACTIONS["enosys"])


def _ranges(rules: tuple[Rule, ...]) -> Iterator[tuple[Rule, Rule]]:
    """Unconditional rules as ranges of neighbouring numbers with one action."""
    first = last = None
    for rule in rules:
        if rule.condition is not None:
            continue
        if first and last and rule.number == last.number + 1 and rule.action == first.action:
            last = rule
            continue
        if first and last:
            yield first, last
        first = last = rule
    if first and last:
        yield first, last


def _conditional(rule: Rule, condition: Condition) -> Iterator[bytes]:
    test = [_op(_LD, _ARGS_OFFSET + 8 * condition.arg)]
    if condition.mask is not None:
        test.append(_op(_AND, condition.mask))
    count = len(condition.values)
    met, unmet = rule.action, _ACTIONS["eperm"]
    for index, value in enumerate(condition.values):
        test.append(_op(_JEQ, value, count - index, 0))
    test.append(_op(_RET, unmet if condition.equal else met))
    test.append(_op(_RET, met if condition.equal else unmet))
    yield _op(_JEQ, rule.number, 0, len(test))
    yield from test


def profile_text(name: str = "x86_64") -> str:
    """A shipped profile: that of this architecture, or `landlock`, which changes it."""
    return files("assay.sandbox").joinpath(f"profiles/{name}.syscalls").read_text()


def default_filter() -> bytes:
    """The shipped profile, assembled."""
    return assemble(parse_profile(profile_text()))


def landlock_filter() -> bytes:
    """The profile where runs have no namespaces of their own."""
    return assemble(parse_profile(profile_text("landlock"), base=parse_profile(profile_text())))
