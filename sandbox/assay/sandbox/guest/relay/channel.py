"""One end of a pair of pipes that carries JSON lines. What is no message, or an end, is the other end's death."""

from __future__ import annotations

import os
from typing import Any

from assay.sandbox.guest.values import codec

MAX_MESSAGE_BYTES = 16 << 20


class PeerGone(BaseException):
    """The other end closed its pipe, or sent what is no message. No test code may catch it by mistake."""


class Channel:
    """Messages to and from the other end."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._buffer = b""
        self.gone = False
        """The other end has died or sent junk; whoever caught the exception, this stays."""

    def lose(self, why: str) -> PeerGone:
        """Note that the other end is gone; returns what to raise."""
        self.gone = True
        return PeerGone(why)

    def send(self, message: Any) -> None:
        """Write one message. Raises `PeerGone`."""
        view = memoryview(codec.json_dumps(message).encode() + b"\n")
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
