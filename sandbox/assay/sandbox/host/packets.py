"""Messages between a supervisor and those it serves: one JSON object a packet, with descriptors.

Only supervisor and lanes use these; no data of programs is sent here. SOCK_SEQPACKET keeps packets whole.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from typing import Any

from assay.sandbox.errors import Unavailable

_PACKET_BYTES = 1 << 16
_DESCRIPTORS = 8

Message = dict[str, Any]


def pair() -> tuple[socket.socket, socket.socket]:
    """A connected pair of packet sockets."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def send(connection: socket.socket, message: Message, fds: Sequence[int] = ()) -> None:
    """Send one message. Raises `Unavailable` if the other end is gone."""
    try:
        socket.send_fds(connection, [json.dumps(message).encode()], list(fds))
    except OSError as error:
        raise Unavailable("the sandbox supervisor is gone") from error


def receive(connection: socket.socket) -> tuple[Message, list[int]]:
    """Wait for one message. Raises `Unavailable` at end of file."""
    try:
        data, fds, _, _ = socket.recv_fds(connection, _PACKET_BYTES, _DESCRIPTORS)
    except OSError as error:
        raise Unavailable("the sandbox supervisor does not answer") from error
    if not data:
        raise Unavailable("the sandbox supervisor is gone")
    return json.loads(data), fds
