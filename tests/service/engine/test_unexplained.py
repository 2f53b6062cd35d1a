"""A death that nothing accounts for is a 0 only after a second one, is marked, and is never cached."""

import pytest

from assay.client import Client

STDIO = {"language": "python", "mode": "stdio", "tests": [{"stdin": "", "expected_stdout": "1"}]}
ASSERTS = {"language": "python", "mode": "asserts", "tests": [{"test_code": "assert f(1) == 1"}]}
SUICIDES = {
    "itself": (STDIO, "import os\nos.kill(os.getpid(), 9)"),
    "in a call of the tests": (ASSERTS, "import os\ndef f(x):\n    os.kill(os.getpid(), 9)"),
}


@pytest.fixture(scope="module")
def client() -> object:
    with Client("embedded:", lanes=1) as client:
        yield client


@pytest.mark.parametrize("name", SUICIDES)
def test_a_program_that_kills_itself_is_wrong_each_time_anew(client: Client, name: str) -> None:
    reference, source = SUICIDES[name]
    item = {"verifier": "code", "completion": f"```python\n{source}\n```", "reference": reference}
    for _ in range(2):
        (result,) = client.score([item])
        assert (result.reward, result.cached) == (0.0, False)
        assert "killed" in result.flags


def test_an_ordinary_failure_is_cached(client: Client) -> None:
    item = {"verifier": "code", "completion": "```python\nraise SystemExit(3)\n```", "reference": STDIO}
    (first,), (second,) = client.score([item]), client.score([item])
    assert (first.reward, second.reward, second.cached) == (0.0, 0.0, True) and "killed" not in first.flags
