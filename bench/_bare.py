"""The peer of `bench.path`: a bare FastAPI handler over the same models, with a verifier that does nothing."""

import sys

import uvicorn
from fastapi import FastAPI

from assay.contract.envelope import ScoreRequest, ScoreResponse
from assay.contract.result import Outcome, Result

app = FastAPI()


@app.get("/healthz")
async def healthz() -> dict[str, str]:
    """Report that the server is alive."""
    return {"status": "ok"}


@app.post("/v1/score")
async def score(request: ScoreRequest) -> ScoreResponse:
    """Return a result for each item without scoring it."""
    results = [
        Result(id=str(n), reward=1.0, score=1.0, outcome=Outcome.CORRECT, reason="equal", verifier="none@1")
        for n, _ in enumerate(request.items)
    ]
    return ScoreResponse(results=results)


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
