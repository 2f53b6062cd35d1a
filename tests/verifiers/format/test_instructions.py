"""Every instruction id of IFEval, IFBench and IF-RLVR: at least five replies that follow it and five that do not."""

from typing import Any

import pytest

from assay.contract.references.format import FormatReference
from assay.datasets.converters.ifbench import IF_RLVR, IFBENCH
from assay.datasets.converters.instructions import KINDS, constraints
from assay.verifiers.format.kinds import TEXT_CHECKS
from assay.verifiers.format.plain import unaccented

from .._scoring import verdict
from ._instructions import SETS

CAPITALS = constraints("custom:european_capitals_sort", {})[0]["items"]
AFRICA = """
Algeria|Angola|Benin|Botswana|Burkina Faso|Burundi|Cabo Verde|Cameroon|Central African Republic|Chad|Comoros|Congo
DR Congo|Djibouti|Egypt|Equatorial Guinea|Eritrea|Eswatini|Ethiopia|Gabon|Gambia|Ghana|Guinea|Guinea-Bissau
Ivory Coast|Kenya|Lesotho|Liberia|Libya|Madagascar|Malawi|Mali|Mauritania|Mauritius|Morocco|Mozambique|Namibia|Niger
Nigeria|Rwanda|São Tomé and Príncipe|Senegal|Seychelles|Sierra Leone|Somalia|South Africa|South Sudan|Sudan|Tanzania
Togo|Tunisia|Uganda|Zambia|Zimbabwe
"""
NAMES = [name for line in AFRICA.split("\n") for name in line.split("|") if name]
COUNTRIES = sorted(NAMES, key=lambda name: unaccented(name.casefold()), reverse=True)
STORY = [f"{letter} word{end}" for letter, end in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", ".!?." * 7, strict=False)]


Replies = tuple[list[str], list[str]]


def _countries() -> Replies:
    whole = "\n".join(COUNTRIES)
    marked = ["\n".join(f"{mark} {name}" for name in COUNTRIES) for mark in "*-"]
    unmet = ["\n".join(COUNTRIES[:40]), "\n".join(COUNTRIES[::-1])]
    return [whole, "\n".join(COUNTRIES[:53]), *marked, f"Sure:\n{whole}"], unmet


def _story() -> Replies:
    longer = " ".join(f"{sentence[:-1]} more{sentence[-1]}" for sentence in STORY)
    met = [" ".join(STORY), "\n".join(STORY), " ".join(STORY).lower(), "\n\n".join(STORY), longer]
    return met, [" ".join(STORY[:25]), " ".join(STORY[::-1])]


def _capitals() -> Replies:
    joined = ", ".join(CAPITALS)
    met = [joined, ",".join(CAPITALS), joined + ".", joined.replace("Reykjavik", "Reykjavík"), joined.upper()]
    return met, [", ".join(CAPITALS[::-1]), ", ".join(CAPITALS[:-1])]


def _table(header: str, row: str, rows: int) -> Replies:
    lines = [header, *[row] * rows]
    whole = "\n".join(lines)
    met = [whole, whole + "\n", "\n" + whole, "\r\n".join(lines), whole.replace("1", "2")]
    return met, ["\n".join(lines[:-1]), "\n".join([*lines, row]), "\n".join(lines[1:])]


MADE = {"countries": _countries, "story": _story, "capitals": _capitals, "table": _table}
"""Replies that are too long to write down; `made` of a case names the function and its arguments."""


def _replies(case: dict[str, Any]) -> Replies:
    made = case.get("made", {})
    met, unmet = MADE[made["by"]](**{key: value for key, value in made.items() if key != "by"}) if made else ([], [])
    return case["met"] + met, case["unmet"] + unmet


CASES = [
    pytest.param(kind, case["params"], *_replies(case), id=f"{name} {kind}")
    for name, cases in SETS.items()
    for kind, case in cases.items()
]


@pytest.mark.parametrize(("kind", "params", "met", "unmet"), CASES)
def test_an_instruction_is_followed_or_not(kind: str, params: dict[str, Any], met: list[str], unmet: list[str]) -> None:
    assert len(met) >= 5 and len(unmet) >= 5
    reference = {"constraints": constraints(kind, params), "aggregate": "all"}
    assert [text for text in met if verdict("format", text, reference).reward != 1] == []
    assert [text for text in unmet if verdict("format", text, reference).reward != 0] == []


def test_every_id_has_a_case() -> None:
    assert KINDS.keys() <= {kind for cases in SETS.values() for kind in cases}
    assert IFBENCH.keys() == SETS["ifbench"].keys()
    assert IF_RLVR.keys() <= SETS["ifrlvr"].keys()


def test_every_kind_is_part_of_the_reference() -> None:
    schema = FormatReference.model_json_schema()
    kinds = schema["properties"]["constraints"]["items"]["discriminator"]["mapping"]
    assert TEXT_CHECKS.keys() <= kinds.keys()
