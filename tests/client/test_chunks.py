"""Cutting items into requests: bounded, in order, with whole groups."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from assay.client.chunks import chunks, gathered


@dataclass(frozen=True)
class One:
    group: str | None
    size: int


flows = st.lists(st.builds(One, st.sampled_from([None, "a", "b", "c"]), st.integers(1, 50)), max_size=60)


@given(flows, st.integers(1, 8), st.integers(20, 200))
def test_chunks_keep_every_item_once_and_in_order(items: list[One], most: int, weight: int) -> None:
    cut = list(chunks(items, max_items=most, max_bytes=weight))
    assert [item for chunk in cut for item in chunk] == items
    assert all(len(chunk) <= most for chunk in cut)
    assert all(sum(item.size for item in chunk) <= weight for chunk in cut if len(chunk) > 1)


@given(flows)
def test_a_group_is_split_only_if_it_alone_exceeds_the_limit(items: list[One]) -> None:
    cut = list(chunks(gathered(items), max_items=8, max_bytes=300))
    for group in ("a", "b", "c"):
        members = [item for item in items if item.group == group]
        homes = sum(any(item.group == group for item in chunk) for chunk in cut)
        if members and len(members) <= 8 and sum(item.size for item in members) <= 300:
            assert homes == 1


@given(flows)
def test_gathering_keeps_the_order_within_a_group(items: list[One]) -> None:
    together = gathered(items)
    for group in ("a", "b", "c"):
        assert [i for i in together if i.group == group] == [i for i in items if i.group == group]
