"""A cursor over one text that reads literals, names and JSON values.

All syntaxes use it. A JSON value is first parsed up to the next closing mark, which is right unless a string in the
value contains that mark; only then is it scanned token by token. Linear in the text per attempt; `Reading` bounds the
number of attempts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assay.verifiers import strict_json
from assay.verifiers.tool.attempts import MAX_CALLS, MAX_FAILURES, Attempt, Fault, Options, ReadLimitReached

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+("?)|[{}\[\]]', re.DOTALL)
_SPACE = re.compile(r"\s*")
_CLOSERS = {"{": "}", "[": "]"}
_RAW = re.compile(r"[\x00-\x1f]")


class Reading:
    """One text being read: the cursor position and the attempts found so far."""

    def __init__(self, text: str, options: Options, *, start: int = 0) -> None:
        self.text = text
        self.at = start
        self.options = options
        self.attempts: list[Attempt] = []
        self._failures = 0

    # -- moving ---------------------------------------------------------------------------------------

    def find(self, mark: str) -> bool:
        """Move to the next `mark`. Return False, without moving, if there is none."""
        found = self.text.find(mark, self.at)
        if found < 0:
            return False
        self.at = found
        return True

    def skip_space(self) -> None:
        """Move past white space."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def take(self, mark: str) -> bool:
        """Move past `mark` if it is at the cursor."""
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def require(self, mark: str) -> None:
        """Move past white space and `mark`. Raises `Fault`."""
        self.skip_space()
        if not self.take(mark):
            raise Fault("unclosed" if self.at >= len(self.text) else "markup")

    def until(self, mark: str) -> str:
        """Return the text up to `mark`, and move past it. Raises `Fault`."""
        end = self.text.find(mark, self.at)
        if end < 0:
            raise Fault("unclosed")
        before, self.at = self.text[self.at : end], end + len(mark)
        return before

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move past `pattern` if it matches at the cursor."""
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    # -- JSON -------------------------------------------------------------------------------------------

    def json(self, *, until: str = "") -> Any:
        """Read the JSON value at the cursor. `until`: the mark that must follow it; the cursor stops before it.

        Raises `Fault`, with the cursor at the next such mark, if there is one.
        """
        self.skip_space()
        start = self.at
        close = self.text.find(until, start) if until else -1
        if close >= 0:
            try:
                value = strict_json.value_of(self.text[start:close])
            except strict_json.JsonFault:
                pass
            else:
                self.at = close
                return value
        end, missing = self._end_of_json(start, len(self.text))
        if missing and close >= 0 and self.options.lenient:
            end, missing = self._end_of_json(start, close)
        return self._value(start, end, missing, close)

    def _value(self, start: int, end: int, missing: str, close: int) -> Any:
        lenient = self.options.lenient
        try:
            if missing and not lenient:
                raise Fault("unclosed" if end >= len(self.text) else "invalid_json")
            text = self.text[start:end]
            value = strict_json.value_of(_escape_raw(text) + missing if lenient else text)
        except strict_json.JsonFault as fault:
            self.at = close if close >= 0 else end
            raise Fault(fault.code if fault.code == "duplicate_key" else "invalid_json") from None
        except Fault:
            self.at = close if close >= 0 else end
            raise
        self.at = close if missing and close >= 0 else end
        return value

    def _end_of_json(self, start: int, stop: int) -> tuple[int, str]:
        """Return where the object or array at `start` ends, and the closing brackets that are missing before `stop`."""
        if self.text[start : start + 1] not in _CLOSERS:
            raise Fault("unclosed" if start >= len(self.text) else "invalid_json")
        open_: list[str] = []
        for token in _TOKEN.finditer(self.text, start, stop):
            mark = token[0]
            if mark[0] == '"':
                if not token[1]:
                    return stop, '"' + "".join(reversed(open_))
            elif mark in _CLOSERS:
                open_.append(_CLOSERS[mark])
                if len(open_) > strict_json.DEPTH_LIMIT:
                    return token.end(), "".join(reversed(open_))
            elif open_.pop() != mark:
                return token.start(), "".join(reversed(open_)) or "!"
            if not open_:
                return token.end(), ""
        return stop, "".join(reversed(open_))

    # -- results ----------------------------------------------------------------------------------------

    def attempt(self, read: Callable[[], Attempt], *, resume: str = "", again: str = "") -> bool:
        """Read one call. A fault is recorded as a failed attempt. Return True if it is a call.

        After a fault the cursor moves past the next `resume`, if there is one, but not past an `again` that follows the
        attempt's own: a new attempt starts there.
        """
        start = self.at
        if len(self.attempts) >= MAX_CALLS:
            self._keep(Attempt(reason="too_many", span=(start, len(self.text))))
            raise ReadLimitReached
        try:
            self._keep(read())
        except Fault as fault:
            self.at = max(self.at, start + 1)
            if resume and not self.find(resume):
                self.at = len(self.text)
            self.take(resume)
            inner = self.text.find(again, start + len(again), self.at) if again else -1
            self.at = inner if inner >= 0 else self.at
            self.fail(fault.reason, start)
            return False
        return True

    def fail(self, reason: str, start: int) -> None:
        """Record a failed attempt from `start` to the cursor. Raises `ReadLimitReached` after too many."""
        self._keep(Attempt(reason=reason, span=(start, min(self.at, len(self.text)))))
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            self._keep(Attempt(reason="too_many", span=(min(self.at, len(self.text)), len(self.text))))
            raise ReadLimitReached

    def _keep(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def call(self, name: Any, args: Any, start: int, *, id: str | None = None) -> Attempt:
        """Return a call from `start` to the cursor. Raises `Fault` if `name` is not a name or `args` not an object."""
        return checked_call(name, args, self.options, span=(start, self.at), id=id)


def checked_call(name: Any, args: Any, options: Options, **where: Any) -> Attempt:
    """Return the call of that name and arguments. Raises `Fault`: `missing_name`, `arguments`, or a JSON reason."""
    if not isinstance(name, str) or not name.strip():
        raise Fault("missing_name")
    if isinstance(args, str) and options.decode_strings:
        args = decoded(args)
    if not isinstance(args, dict):
        raise Fault("arguments")
    return Attempt(name=name, args=args, **where)


def decoded(text: str) -> Any:
    """Parse a JSON text. Raises `Fault`."""
    try:
        return strict_json.value_of(text)
    except strict_json.JsonFault as fault:
        raise Fault(fault.code if fault.code == "duplicate_key" else "invalid_json") from None


def exact_numbers(value: Any) -> Any:
    """Return the same JSON value with exact numbers. Raises `Fault`."""
    try:
        return strict_json.exact(value)
    except (strict_json.JsonFault, ValueError):
        raise Fault("invalid_json") from None


def _escape_raw(text: str) -> str:
    """Return the text with raw control characters inside strings escaped (lenient parsing only)."""

    def string(token: re.Match[str]) -> str:
        return _RAW.sub(lambda raw: f"\\u{ord(raw[0]):04x}", token[0]) if token[0][0] == '"' else token[0]

    return _TOKEN.sub(string, text)
