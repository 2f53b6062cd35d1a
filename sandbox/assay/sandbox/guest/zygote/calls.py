"""Function mode: load the program as a module, call it, and send back values.

The job's calls have no expected values. Each call answers one line on descriptor 3:
`[index, {"v": value}]` or `[index, {"e": exception type, "at": "load" | "call" | "value"}]`, and with
`check_args` `[index, {"v": value, "a": arguments afterwards}]`. The host compares.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable
from typing import Any

from assay.sandbox.guest.values import codec
from assay.sandbox.guest.zygote import program

RESULT_FD = 3
Head = dict[str, Any]


class TreeNode:
    """A node of a binary tree, for programs that expect the environment to define it."""

    def __init__(self, val: Any = 0, left: Any = None, right: Any = None) -> None:
        self.val, self.left, self.right = val, left, right


class ListNode:
    """A node of a linked list, for programs that expect the environment to define it."""

    def __init__(self, val: Any = 0, next: Any = None) -> None:
        self.val, self.next = val, next


class Callback:
    """A function handed to the program: answers from a table and remembers how it was called."""

    def __init__(self, body: dict[str, Any], build: Callable[[Any], Any]) -> None:
        self._table = [(build(args), build(result)) for args, result in body.get("table", ())]
        self._default = build(body.get("returns", body.get("default")))
        self.calls: list[list[Any]] = []

    def __call__(self, *args: Any) -> Any:
        """Note the call; the table's answer, or the default."""
        self.calls.append(list(args))
        return next((result for given, result in self._table if given == list(args)), self._default)


class Builder:
    """Builds arguments from JSON, with nodes of the program's own classes where it has them."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._tree = names.get("TreeNode", TreeNode)
        self._list = names.get("ListNode", ListNode)

    def build(self, form: Any) -> Any:
        """The Python value of a JSON form with typed objects."""
        if isinstance(form, list):
            return [self.build(item) for item in form]
        if not isinstance(form, dict):
            return form
        if len(form) == 1:
            ((key, body),) = form.items()
            maker = getattr(self, "_make_" + key[1:], None) if key.startswith("$") else None
            if maker is not None:
                return maker(body)
        return {key: self.build(item) for key, item in form.items()}

    def _make_tuple(self, body: list[Any]) -> Any:
        return tuple(self.build(item) for item in body)

    def _make_set(self, body: list[Any]) -> Any:
        return {self.build(item) for item in body}

    def _make_bytes(self, body: str) -> Any:
        return base64.b64decode(body, validate=True)

    def _make_json(self, body: Any) -> Any:
        return body

    def _make_callback(self, body: dict[str, Any]) -> Any:
        return Callback(body, self.build)

    def _make_list(self, body: list[Any]) -> Any:
        head = None
        for item in reversed(body):
            head = self._list(self.build(item), head)
        return head

    def _make_tree(self, body: list[Any]) -> Any:
        items = iter(body)
        first = next(items, None)
        if first is None:
            return None
        root = self._tree(self.build(first))
        queue = [root]
        for node in queue:
            for side in ("left", "right"):
                item = next(items, None)
                if item is not None:
                    child = self._tree(self.build(item))
                    setattr(node, side, child)
                    queue.append(child)
        return root


def load(head: Head, blobs: list[bytes], *, extra: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Import the program as module `solution`; returns it and the names that it found there."""
    program.write_files(head, blobs)
    filename = os.path.join(os.getcwd(), head["name"])
    program.prepare_interpreter([filename], os.getcwd())
    module = program.new_module("solution", filename)
    module.__dict__.update(extra)
    given = dict(module.__dict__)
    exec(program.compiled(head, blobs, filename), module.__dict__)
    return module, given


def find_entry(names: dict[str, Any], given: dict[str, Any], entry: str) -> Any:
    """The callable named `entry` that the program defines, or a method of a new `Solution`."""
    if entry in names and (entry not in given or names[entry] is not given[entry]):
        return names[entry]
    solution = names.get("Solution")
    if isinstance(solution, type):
        return getattr(solution(), entry)
    raise NameError("the program does not define the entry point")


_PROVIDED: dict[str, Any] = {"TreeNode": TreeNode, "ListNode": ListNode}


def run(head: Head, blobs: list[bytes]) -> int:
    """Answer every call of the job; returns the exit code."""
    extra = _PROVIDED if head.get("nodes") else {}
    try:
        module, given = load(head, blobs, extra=extra)
    except Exception as error:
        program.report(error)
        for index, _ in enumerate(head["calls"]):
            _send(index, {"e": _type_name(error), "at": "load"})
        return 1
    for index, call in enumerate(head["calls"]):
        _send(index, _answer(module.__dict__, given, call))
    sys.stdout.flush()
    return 0


def _answer(names: dict[str, Any], given: dict[str, Any], call: Head) -> Any:
    at = "call"
    try:
        builder = Builder(names)
        args = [builder.build(item) for item in call["args"]]
        keywords = {key: builder.build(item) for key, item in call["kwargs"].items()}
        result = find_entry(names, given, call["entry_point"])(*args, **keywords)
        at = "value"
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 5000))
        answer = {"v": codec.Encoder().encode(result)}
        if call["check_args"]:
            answer["a"] = codec.Encoder(_callback_calls).encode(args)
        return answer
    except Exception as error:
        program.report(error)
        return {"e": _type_name(error), "at": at}


def _callback_calls(value: Any) -> Any:
    if type(value) is Callback:
        return codec.Encoder().encode(value.calls)
    return None


def _type_name(error: BaseException) -> str:
    return str.__str__(type(error).__name__)[:100]


def _send(index: int, answer: Any) -> None:
    data = codec.json_dumps([index, answer]).encode() + b"\n"
    view = memoryview(data)
    while view:
        view = view[os.write(RESULT_FD, view) :]
