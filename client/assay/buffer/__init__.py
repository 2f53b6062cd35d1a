"""The rollout buffer: groups of samples from their draw to the update that trains them, on disk, without torch.

A `Buffer` records the state of every group and the samples of those that are not yet trained; `Pacing` says when a
further group may start, so that no sample trains at a greater lag than allowed. Both are used by the bundled loop and
by its simulator. One process owns a buffer's file.
"""

from assay.buffer.buffer import Buffer, BufferFailed
from assay.buffer.lengths import lengths_of
from assay.buffer.pacing import Pacing
from assay.buffer.samples import StoredSample
from assay.buffer.states import GroupState, Reason

__all__ = ["Buffer", "BufferFailed", "GroupState", "Pacing", "Reason", "StoredSample", "lengths_of"]
