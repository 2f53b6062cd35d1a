"""The gRPC peer of `bench.transports`: a bare grpc.aio server that decodes requests and returns one result per item."""

import asyncio
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import grpc

from assay.contract import assay_pb2 as pb


async def score(request: pb.ScoreRequest, context: Any) -> pb.ScoreResponse:
    """Return a result for each item without scoring it."""
    verdict = pb.Verdict(reward=1.0, score=1.0, outcome=pb.OUTCOME_CORRECT)
    results = [
        pb.Result(id=str(n), verdict=verdict, reason="equal", verifier="none@1") for n, _ in enumerate(request.items)
    ]
    return pb.ScoreResponse(results=results)


class Alive(BaseHTTPRequestHandler):
    """`/healthz`."""

    def do_GET(self) -> None:
        """Report that the server is alive."""
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


async def main() -> None:
    """Serve until killed."""
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
    handler = grpc.unary_unary_rpc_method_handler(score, pb.ScoreRequest.FromString, lambda m: m.SerializeToString())
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("assay.v1.Scorer", {"Score": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[2]}")
    await server.start()
    alive = HTTPServer(("127.0.0.1", int(sys.argv[1])), Alive)
    threading.Thread(target=alive.serve_forever, daemon=True).start()
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(main())
