"""Sidecar keys: SHA-256 hashes in the settings, Bearer keys on the wire."""

from __future__ import annotations

import pytest

from sidecar.errors import KeyRefused
from sidecar.web.keys import check_key, hash_key

# echo -n abc | sha256sum (FIPS 180-2, appendix B.1)
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_hash_is_the_standard_one() -> None:
    assert hash_key("abc") == ABC


@pytest.mark.parametrize("given", [None, "Bearer anything", "Basic eDp5"], ids=["none", "bearer", "basic"])
def test_without_keys_any_value_is_accepted(given: str | None) -> None:
    assert check_key(given, {}) is None


@pytest.mark.parametrize("given", ["Bearer abc", "bearer abc", "Bearer  abc "], ids=["plain", "lower case", "blanks"])
def test_a_known_key_gives_its_name(given: str) -> None:
    assert check_key(given, {"other": hash_key("x"), "app": ABC.upper()}) == "app"


@pytest.mark.parametrize(
    "given",
    [None, "", "Bearer", "Bearer ", "Basic abc", "abc", "Bearer abcd", "Bearer ab", f"Bearer {ABC}"],
    ids=["none", "empty", "scheme only", "blank", "basic", "bare", "longer", "shorter", "the hash itself"],
)
def test_anything_else_is_refused_without_its_value(given: str | None) -> None:
    with pytest.raises(KeyRefused) as refused:
        check_key(given, {"app": ABC})
    assert "abc" not in str(refused.value)
