"""Compat protocols: reward-server protocols that trainers already speak, translated to the engine.

One module per protocol; each is off until the settings name it. None may answer 0 for *no verdict*: its module, and
docs/compat.md, say what it answers instead.
"""

from __future__ import annotations

from fastapi import FastAPI

from assay.service.compat import nemo_gym, openrlhf, sandbox_fusion, slime
from assay.service.compat.settings import CompatSettings
from assay.service.front import Front


def add_protocols(app: FastAPI, front: Front, settings: CompatSettings) -> None:
    """Add the routes of the protocols that the settings name."""
    if settings.openrlhf is not None:
        openrlhf.add(app, front, settings.openrlhf)
    if settings.slime is not None:
        slime.add(app, front, settings.slime)
    if settings.nemo_gym is not None:
        nemo_gym.add(app, front, settings.nemo_gym)
    if settings.sandbox_fusion is not None:
        sandbox_fusion.add(app, front, settings.sandbox_fusion)
