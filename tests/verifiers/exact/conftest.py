"""Property tests here have no deadline per example: machines are noisy, and hostile text has its own clock."""

from hypothesis import settings

settings.register_profile("exact", deadline=None)
settings.load_profile("exact")
