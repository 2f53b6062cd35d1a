"""Versions of the policy's weights as folders that workers and servers read: `version-N`, safetensors."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from assay.client import AssayError
from assay.trainer_adapter.grpo.policy import Policy


class PublicationFailed(AssayError):
    """The weights cannot be written."""


class Weights:
    """The folder of the published versions. The last stays, and those that are being loaded."""

    def __init__(self, policy: Policy, folder: Path) -> None:
        self._policy, self._folder = policy, folder

    def path(self, version: int) -> Path:
        """Return the folder of a version."""
        return self._folder / f"version-{version}"

    def write(self, version: int, *, keep: Collection[int] = ()) -> Path:
        """Write the trainer's weights as a version, whole or not at all, and delete all others but those to `keep`.

        Raises `PublicationFailed`.
        """
        path, draft = self.path(version), self._folder / f"draft-{version}"
        try:
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            self._policy.save(draft)
            shutil.rmtree(path, ignore_errors=True)
            os.rename(draft, path)
        except OSError as error:
            raise PublicationFailed(f"weights of version {version}: {path}: {error.strerror or error}") from None
        for old in self._folder.glob("version-*"):
            if int(old.name.removeprefix("version-")) not in {version, *keep}:
                shutil.rmtree(old, ignore_errors=True)
        return path
