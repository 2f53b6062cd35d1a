"""A bound on a request's head, which comes before any key is looked at.

httptools keeps a header until it is whole, however long it grows; uvicorn's own bound is for h11 alone.
Not covered: how slowly a head or a body comes (a proxy's business), and how many connections there are.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol; a head of more than HEAD_BYTES, and what came with its first piece, is a 400."""

    _in_head = False
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The head of the request is too large.")
                return
        if not self.transport.is_closing():
            super().data_received(data)

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._in_head = False
        super().on_headers_complete()
