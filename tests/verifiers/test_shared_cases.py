"""Every row of the shared cases has its expected reward."""

import pytest

from ._scoring import differing


@pytest.mark.parametrize("cases", ["tool", "schema", "format", "composite"])
def test_every_case(cases: str) -> None:
    assert differing(cases) == []
