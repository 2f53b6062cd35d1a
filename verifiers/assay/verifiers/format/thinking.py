"""Checks of the structure of thinking and answer: `think_answer` and `think`. Tags are counted, never repaired."""

from __future__ import annotations

import re

from assay.verifiers.format.plain import is_blank

_TAG = re.compile(r"</?(?:think|answer)>")


def think_answer(text: str, *, strict: bool) -> bool:
    """Return whether there is one think block, then one non-blank answer block; `strict`: only white space outside
    them.
    """
    tags = list(_TAG.finditer(text))
    if [tag[0] for tag in tags] != ["<think>", "</think>", "<answer>", "</answer>"]:
        return False
    if is_blank(text[tags[2].end() : tags[3].start()]):
        return False
    outside = text[: tags[0].start()] + text[tags[1].end() : tags[2].start()] + text[tags[3].end() :]
    return not strict or not outside.strip()


def think(text: str, *, strict: bool) -> bool:
    """Return whether one think block comes first, with non-blank text after it; `strict`: the block is not blank
    either.
    """
    tags = [tag for tag in _TAG.finditer(text) if "think" in tag[0]]
    if [tag[0] for tag in tags] != ["<think>", "</think>"]:
        return False
    first, last = tags
    if text[: first.start()].strip() or is_blank(text[last.end() :]):
        return False
    return not strict or not is_blank(text[first.end() : last.start()])
