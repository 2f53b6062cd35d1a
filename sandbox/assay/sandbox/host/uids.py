"""Host uids for jails: a block that no other supervisor on this host uses.

The kernel counts processes per uid (RLIMIT_NPROC), so two supervisors that shared uids would feel each
other's fork bombs. A block is claimed by binding an abstract Unix socket, which the kernel frees when
its holder dies. Not covered: supervisors in different network namespaces that share a user namespace.
"""

from __future__ import annotations

import errno
import socket

from assay.sandbox.errors import Unavailable

BLOCK = 1024
_BLOCKS = 1024


def claim_block(base: int) -> int:
    """The first uid of a block from `base` on that is ours until this process ends. Raises `Unavailable`."""
    for number in range(_BLOCKS):
        first = base + number * BLOCK
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0assay-sandbox-uids-{first}")
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                raise Unavailable(f"no host uids can be claimed: {error.strerror}") from error
            continue
        claim.detach()  # held until the process ends
        return first
    raise Unavailable(f"all {_BLOCKS} blocks of host uids from {base} on are in use")
