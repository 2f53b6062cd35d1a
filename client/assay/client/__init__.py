"""The client: one Client over transports, and the frame of the command line."""

from assay.client._async import AsyncClient
from assay.client._sync import Client
from assay.client.errors import (
    AssayError,
    ConfigurationError,
    DeadlineExceeded,
    Overloaded,
    ProtocolError,
    RequestRefused,
    ServiceUnavailable,
)
from assay.client.memory_transport import MemoryTransport
from assay.client.transport import Transport
from assay.contract.item import Item
from assay.contract.result import Result

__all__ = [
    "AssayError",
    "AsyncClient",
    "Client",
    "ConfigurationError",
    "DeadlineExceeded",
    "Item",
    "MemoryTransport",
    "Overloaded",
    "ProtocolError",
    "RequestRefused",
    "Result",
    "ServiceUnavailable",
    "Transport",
]
