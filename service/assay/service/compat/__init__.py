"""Wires: what trainers already speak to a reward server, as thin translations onto the engine.

One file per wire; each is off until settings name it. None may answer 0 for "no verdict": what a wire
says instead stands in its file, and in docs/compat.md.
"""

from __future__ import annotations

from fastapi import FastAPI

from assay.service.compat import nemo_gym, openrlhf, sandbox_fusion, slime
from assay.service.compat.settings import WiresSettings
from assay.service.front import Front


def add_wires(app: FastAPI, front: Front, settings: WiresSettings) -> None:
    """Add the routes of the wires that settings name."""
    if settings.openrlhf is not None:
        openrlhf.add(app, front, settings.openrlhf)
    if settings.slime is not None:
        slime.add(app, front, settings.slime)
    if settings.nemo_gym is not None:
        nemo_gym.add(app, front, settings.nemo_gym)
    if settings.sandbox_fusion is not None:
        sandbox_fusion.add(app, front, settings.sandbox_fusion)
