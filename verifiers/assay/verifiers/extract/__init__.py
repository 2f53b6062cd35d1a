"""Locate answers in a text: boxes, answer tags, answer markers, sentences, Markdown.

Shared by the verifiers that read an answer out of prose. Every function takes text and returns spans of code points
relative to that text. None compares answers, none raises on any text, and all are linear in the text's length. Thinking
is not handled here: `Candidate.answer` has already removed it.
"""

from assay.verifiers.extract.boxes import Box, Boxes, find_boxes, last_box
from assay.verifiers.extract.found import Found
from assay.verifiers.extract.markdown import strip_markdown
from assay.verifiers.extract.markers import (
    CHANGING_REMARK,
    Marker,
    iter_markers,
    last_marker,
    last_marker_answer,
    marker_answer,
    strip_remark,
)
from assay.verifiers.extract.sentences import last_sentence, sentence_end
from assay.verifiers.extract.tags import Tags, answer_tags, last_answer_tag

__all__ = [
    "CHANGING_REMARK",
    "Box",
    "Boxes",
    "Found",
    "Marker",
    "Tags",
    "answer_tags",
    "find_boxes",
    "iter_markers",
    "last_answer_tag",
    "last_box",
    "last_marker",
    "last_marker_answer",
    "last_sentence",
    "marker_answer",
    "sentence_end",
    "strip_markdown",
    "strip_remark",
]
