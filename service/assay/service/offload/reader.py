"""The reader process: `python -m assay.service.offload.reader FD` reads one body after the other.

Parsers hold the interpreter's lock for seconds on tens of megabytes, so a thread would not do. It also finds the item
keys, which hash every byte. The process ends when the front closes the socket, and after a body that took much memory.
"""

from __future__ import annotations

import resource
import socket
import sys

import msgspec

from assay.contract.codes import ProblemCode
from assay.service.engine.errors import EnvelopeFault
from assay.service.engine.intake.keys import item_key
from assay.service.engine.intake.validate import Intake
from assay.service.engine.intake.work import Batch, Work
from assay.service.offload.orders import LENGTH, Answer, Encoding, Fault, Order
from assay.service.rpc.requests import batch_of

MEMORY_BYTES = 6 << 30
KEPT_KB = 512 << 10
"""Peak resident set after which the process ends, in KiB: what parsers leave behind is not kept."""


def main() -> None:
    """Serve orders until the front closes the socket."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    channel = socket.socket(fileno=int(sys.argv[1]))
    while (order := _received(channel)) is not None:
        answer = msgspec.msgpack.encode(_answer(order))
        channel.sendall(LENGTH.pack(len(answer)))
        channel.sendall(answer)
        del order, answer
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > KEPT_KB:
            return


def _received(channel: socket.socket) -> Order | None:
    head = _exactly(channel, LENGTH.size)
    if head is None:
        return None
    body = _exactly(channel, LENGTH.unpack(head)[0])
    return None if body is None else msgspec.msgpack.decode(body, type=Order)


def _exactly(channel: socket.socket, size: int) -> bytearray | None:
    buffer, at = bytearray(size), 0
    view = memoryview(buffer)
    while at < size:
        count = channel.recv_into(view[at:])
        if not count:
            return None
        at += count
    return buffer


def _answer(order: Order) -> Answer:
    try:
        batch = _read(order)
        for entry in batch.entries:
            if isinstance(entry, Work):
                entry.key = item_key(entry, fingerprint=order.fingerprint)
        return Answer.of(batch)
    except EnvelopeFault as fault:
        return Answer.refused(fault)
    except MemoryError:
        detail = "body: reading it takes too much memory; send fewer items at once"
        return Answer(Fault(ProblemCode.TOO_LARGE, detail, 413, "body"))


def _read(order: Order) -> Batch:
    intake = Intake(
        catalogue={one.name: one.facts() for one in order.catalogue},
        limits=order.limits,
        resolve=lambda owner, digest: order.references.get(digest),
    )
    if order.encoding is Encoding.PROTOBUF:
        return batch_of(order.body, intake, owner=order.owner, left_s=order.left_s)
    read = intake.read_msgpack if order.encoding is Encoding.MSGPACK else intake.read_json
    return read(order.body, owner=order.owner)


if __name__ == "__main__":
    main()
