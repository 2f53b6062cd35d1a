"""What curation kept and dropped, as JSON and as a page."""

from __future__ import annotations

import json
from typing import Any

from assay.datasets.curate.select import Tally
from assay.viewer.charts import histogram
from assay.viewer.page import Page


def as_json(tally: Tally) -> str:
    """For programs."""
    fields: dict[str, Any] = {
        "prompts": tally.prompts, "samples": tally.samples, "kept": dict(tally.kept),
        "dropped": {why: count for why, count in tally.dropped.items() if count},
        "pass_rates": dict(histogram(tally.pass_rates)),
    }  # fmt: skip
    return json.dumps(fields, indent=1) + "\n"


def as_html(tally: Tally) -> str:
    """For people."""
    page = Page("Curation", f"{tally.samples} samples of {tally.prompts} prompts")
    page.heading("Kept")
    page.bars("Lines written", [(name, float(count)) for name, count in tally.kept.items()])
    page.heading("Dropped", "Each sample is counted under the first rule that dropped it.")
    page.bars("Samples dropped", [(why, float(count)) for why, count in tally.dropped.most_common() if count])
    page.heading("Difficulty")
    page.bars("Prompts by pass rate", histogram(tally.pass_rates))
    if tally.lengths:
        page.heading("Length of what is kept")
        longest = float(max(tally.lengths))
        page.bars("Samples by length (tokens or words)", histogram([float(n) for n in tally.lengths], high=longest))
    return page.html()
