"""A bound on the size of a request's head, which is read before any key is checked.

httptools buffers a header until it is complete, however long it grows; uvicorn's own bound applies to h11 only. Not
covered: slow heads or bodies (left to a proxy), and the number of connections.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 64 * 1024


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol with a limit: a head of more than HEAD_BYTES (counted per received chunk) is a 400."""

    _in_head = False
    _head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.send_400_response("The head of the request is too large.")
                return
        if not self.transport.is_closing():
            super().data_received(data)

    def on_message_begin(self) -> None:
        """Handle the start of a request."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Handle the end of the head."""
        self._in_head = False
        super().on_headers_complete()
