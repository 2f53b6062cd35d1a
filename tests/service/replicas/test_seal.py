"""Entries can only be made with the secret, and are valid only under their own name."""

from hypothesis import given
from hypothesis import strategies as st

from assay.service.replicas.seal import Seal

SEAL = Seal("s" * 32)


@given(st.binary(), st.text())
def test_a_sealed_entry_opens(payload: bytes, name: str) -> None:
    assert SEAL.open("k", name, SEAL.close("k", name, payload)) == payload


@given(st.binary(max_size=40), st.data())
def test_a_changed_byte_is_rejected(payload: bytes, data: st.DataObject) -> None:
    entry = bytearray(SEAL.close("k", "n", payload))
    entry[data.draw(st.integers(0, len(entry) - 1))] ^= data.draw(st.integers(1, 255))
    assert SEAL.open("k", "n", bytes(entry)) is None


@given(st.binary(max_size=80))
def test_junk_is_rejected(entry: bytes) -> None:
    assert SEAL.open("k", "n", entry) is None


def test_another_name_kind_or_secret_is_rejected() -> None:
    entry = SEAL.close("k", "n", b"x")
    assert SEAL.open("k", "m", entry) is None and SEAL.open("j", "n", entry) is None
    assert Seal("t" * 32).open("k", "n", entry) is None
