"""Clients as others wrote them, against the wires as docs/compat.md switches them on."""

import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from .._service import ROOT, Service

collect_ignore_glob = [] if find_spec("sandbox_fusion") and find_spec("openrlhf") else ["*"]


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's settings, as a file for `assay serve`."""
    text = (ROOT / "docs/compat.md").read_text()
    file = tmp_path_factory.mktemp("settings") / "assay.toml"
    file.write_text("\n".join(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)))
    return file


@pytest.fixture(scope="session")
def wires(page: Path) -> Iterator[Service]:
    """Every wire on, with a sandbox."""
    if os.getuid() != 0 and not os.environ.get("ASSAY_SANDBOX_BACKENDS"):
        pytest.skip("programs need nsjail, which is tried as root here")
    one = Service(SANDBOX_BACKENDS='["nsjail"]', SANDBOX_SLOTS="1", CONFIG=str(page))
    yield one
    one.kill()


def boxed(answer: object) -> str:
    """What a model says where the page's wires judge: the last box, as mathematics."""
    return rf"so it is \boxed{{{answer}}}."
