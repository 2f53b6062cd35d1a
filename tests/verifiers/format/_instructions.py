"""The instruction ids of IFEval, IFBench and IF-RLVR, with replies that follow them and replies that do not."""

from pathlib import Path
from typing import Any

import yaml

from assay.datasets.converters.instructions import constraints

SETS: dict[str, dict[str, dict[str, Any]]] = {
    path.stem: yaml.safe_load(path.read_text()) for path in sorted((Path(__file__).parent / "data").glob("*.yaml"))
}
RULES = [rule for cases in SETS.values() for kind, case in cases.items() for rule in constraints(kind, case["params"])]
"""Every constraint that these ids become."""
