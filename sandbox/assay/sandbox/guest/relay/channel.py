"""One end of a pair of pipes that carries JSON lines.

At end of file, or at a line that is no message, the other end counts as gone.
"""

from __future__ import annotations

import os
from typing import Any

from assay.sandbox.guest.values import codec

MAX_MESSAGE_BYTES = 16 << 20


class PeerGone(BaseException):
    """The other end closed its pipe or sent a malformed message. A `BaseException`, so that tests do not catch it."""


class Channel:
    """Messages to and from the other end."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._buffer = b""
        self.gone = False
        """The other end is gone; stays set even if something caught the exception."""

    def lose(self, why: str) -> PeerGone:
        """Mark the other end as gone; returns the exception to raise."""
        self.gone = True
        return PeerGone(why)

    def send(self, message: Any) -> None:
        """Write one message. Raises `PeerGone`."""
        self.write(pack(message))

    def write(self, line: bytes) -> None:
        """Write a packed message. Raises `PeerGone`."""
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._write_fd, view) :]
        except OSError as error:
            raise self.lose("the other end is gone") from error

    def receive(self) -> Any:
        """Read one message. Raises `PeerGone`."""
        chunks, size = [self._buffer], len(self._buffer)
        while b"\n" not in chunks[-1]:
            data = os.read(self._read_fd, 1 << 16)
            size += len(data)
            if not data or size > MAX_MESSAGE_BYTES:
                raise self.lose("the other end is gone")
            chunks.append(data)
        line, _, self._buffer = b"".join(chunks).partition(b"\n")
        try:
            message = codec.parse(line)
        except codec.Malformed as error:
            raise self.lose("not a message") from error
        if not isinstance(message, dict):
            raise self.lose("not a message")
        return message


def pack(message: Any) -> bytes:
    """Return a message as one line. Raises `codec.TooLarge`."""
    line = codec.json_dumps(message).encode() + b"\n"
    if len(line) > MAX_MESSAGE_BYTES:
        raise codec.TooLarge("a message too large to cross")
    return line
