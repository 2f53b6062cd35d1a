# ruff: noqa: E501
"""`trust: low`: tests share a process and a disk with the program, so what they patch and write reaches it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.verifiers.base import Verdict
from assay.verifiers.errors import InvalidReference

Score = Callable[..., Verdict]
PROGRAM = """
import os
class Shop:
    tax = 2
    def price(self): return 10 * self.tax
class Corner(Shop): pass
RATES = {"a": 1}
def g(): return 1
def f(): return g()
def who(): return os.environ.get("WHO", "nobody")
def rate(): return RATES.get("a"), RATES.get("b")
def save(path):
    with open(path, "w") as file: file.write("x")
def load(): return open("note").read()
"""

RIGHT = {
    "patch_of_a_function": "import solution\nfrom unittest.mock import patch\ndef test_a():\n    with patch('solution.g', return_value=5):\n        assert solution.f() == 5\n    assert solution.f() == 1",
    "patch_under_another_name": "import src.shop as shop\nfrom unittest import mock\n@mock.patch.object(shop, 'g', lambda: 7)\ndef test_a(): assert shop.f() == 7",
    "patch_of_what_was_taken": "from solution import f\nfrom unittest.mock import patch\n@patch('solution.g', return_value=4)\ndef test_a(g):\n    assert f() == 4\n    g.assert_called_once_with()",
    "environment": "import solution\ndef test_a(monkeypatch):\n    monkeypatch.setenv('WHO', 'me')\n    monkeypatch.setenv('WHO', 'you', prepend=':')\n    assert solution.who() == 'you:me'\n    monkeypatch.delenv('WHO')\n    assert solution.who() == 'nobody'\ndef test_b(): assert solution.who() == 'nobody'",
    "attributes_and_their_end": "import solution\ndef test_a(monkeypatch):\n    monkeypatch.setattr(solution, 'g', lambda: 9)\n    monkeypatch.setattr('solution.Shop.tax', 3)\n    assert solution.f() == 9 and solution.Shop().price() == 30\ndef test_b(): assert solution.f() == 1 and solution.Shop().price() == 20",
    "items": "import solution\ndef test_a(monkeypatch):\n    monkeypatch.setitem(solution.RATES, 'b', 5)\n    monkeypatch.delitem(solution.RATES, 'a')\n    monkeypatch.delitem(solution.RATES, 'c', raising=False)\n    assert solution.rate() == (None, 5)\ndef test_b(): assert solution.rate() == (1, None)",
    "a_name_that_is_not_there": "import pytest, solution\ndef test_a(monkeypatch):\n    with pytest.raises(AttributeError): monkeypatch.setattr(solution, 'nothing', 1)\n    monkeypatch.setattr(solution, 'nothing', 1, raising=False)\n    assert solution.nothing == 1\ndef test_b(): assert not hasattr(solution, 'nothing')",
    "context_of_a_patch": "import pytest, solution\nwith pytest.MonkeyPatch.context() as patch:\n    patch.setattr(solution, 'g', lambda: 2)\n    assert solution.f() == 2\nassert solution.f() == 1",
    "folder_of_a_test": "from solution import save\ndef test_a(tmp_path):\n    save(tmp_path / 'x')\n    assert (tmp_path / 'x').read_text() == 'x' and len(list(tmp_path.iterdir())) == 1\ndef test_b(tmp_path): assert not list(tmp_path.iterdir()) and save(tmp_path / 'x') is None",
    "patch_beside_a_submodule": "import solution\nfrom solution.utils import f\nfrom unittest.mock import patch\ndef test_a():\n    with patch('solution.g', return_value=5): assert f() == 5 and solution.utils.f() == 5\n    with patch('solution.utils.g', return_value=6): assert solution.f() == 6",
    "what_a_class_inherits": "import solution\ndef test_a(monkeypatch):\n    monkeypatch.setattr(solution.Corner, 'price', lambda s: 9)\n    assert solution.Corner().price() == 9 and solution.f() == 1\ndef test_b(monkeypatch):\n    monkeypatch.setattr(solution.Shop, 'price', lambda s: 7)\n    assert solution.Corner().price() == 7\ndef test_c(monkeypatch):\n    monkeypatch.delattr(solution.Shop, 'price')\n    assert not hasattr(solution.Corner, 'price')\ndef test_d(): assert solution.Corner().price() == 20",
    "names_of_folders": "from solution import save\ndef test_a(tmp_path_factory):\n    one, two = (tmp_path_factory.mktemp('d') for _ in range(2))\n    assert (one.name, two.name) == ('d0', 'd1') and one.parent == tmp_path_factory.getbasetemp()\n    save(tmp_path_factory.mktemp('e', numbered=False) / 'x')\n    assert (one.parent / 'e' / 'x').exists()",
    "folders_of_a_session": "import pytest\nfrom solution import load\n@pytest.fixture(scope='session')\ndef home(tmp_path_factory: pytest.TempPathFactory): return tmp_path_factory.mktemp('home')\ndef test_a(home, monkeypatch):\n    (home / 'note').write_text('n')\n    monkeypatch.chdir(home)\n    assert load() == 'n'",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_test_patches_or_writes_reaches_the_program(score: Score, name: str) -> None:
    verdict = score(PROGRAM, [{"test_code": RIGHT[name]}], "asserts", trust="low")
    assert verdict.reward == 1
    assert "trust:low" in verdict.flags


@pytest.mark.parametrize("name", RIGHT)
def test_a_wrong_program_fails_the_same_tests(score: Score, name: str) -> None:
    wrong = (
        PROGRAM
        + "def f(): return 0\ndef who(): return 0\ndef rate(): return 0\ndef save(path): pass\ndef load(): return 0\n"
    )
    assert score(wrong, [{"test_code": RIGHT[name]}], "asserts", trust="low").reward == (
        name == "a_name_that_is_not_there"
    )


@pytest.mark.parametrize("wants", ["tmp_path", "monkeypatch", "tmp_path_factory"])
def test_apart_from_the_program_a_row_that_needs_them_is_refused_with_the_way_out(score: Score, wants: str) -> None:
    test = f"from solution import f\ndef test_a({wants}): assert f() == 1"
    with pytest.raises(InvalidReference, match=f"`trust: low` for the fixture {wants}"):
        score(PROGRAM, [{"test_code": test}], "asserts")
