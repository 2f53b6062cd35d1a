"""A backend that does not work: the service exits with one line; the embedded engine gives no verdict."""

import json

import pytest

from assay.client import ConfigurationError
from assay.service.embedded import EmbeddedTransport

from ._service import assay

ABSENT = '["no-such"]'


def test_serve_exits_with_one_line_naming_the_setting() -> None:
    with assay("serve", "--port", "0", "--lanes", "1", ASSAY_SANDBOX_BACKENDS=ABSENT) as server:
        _, said = server.communicate(timeout=60)
    assert server.returncode == 1
    assert len(said.splitlines()) == 1 and "sandbox_backends" in said and "no-such" in said


def test_the_embedded_engine_reads_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, backends in ((ABSENT, ("no-such",)), (json.dumps(["landlock", "nsjail"]), ("landlock", "nsjail"))):
        monkeypatch.setenv("ASSAY_SANDBOX_BACKENDS", text)
        sandbox = EmbeddedTransport()._settings.sandbox
        assert sandbox is not None and sandbox.backends == backends
    monkeypatch.setenv("ASSAY_SANDBOX_BACKENDS", "[]")
    assert EmbeddedTransport()._settings.sandbox is None


@pytest.mark.parametrize("text", ["nsjail", "5", "[5]", '"nsjail"'])
def test_an_invalid_list_of_backends_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ASSAY_SANDBOX_BACKENDS", text)
    with pytest.raises(ConfigurationError, match="ASSAY_SANDBOX_BACKENDS"):
        EmbeddedTransport()
