"""Names that callers may write."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.api import check_index_name
from sidecar.errors import IllegalArgument

LITERAL = {
    "plain": "judgements",
    "version": "v1",
    "dots": "logs-2026.10.01",
    "hidden": ".history",
    "three dots": "...",
    "digits": "1",
    "inner marks": "a-b_c+d",
    "percent": "a%2fb",
    "umlaut": "häufig",
    "hangul": "한글",
    "255 bytes": "a" * 255,
    "255 bytes of umlauts": "ä" * 127 + "a",
    "exclamation": "a!b",
    "at": "a@b",
}
REFUSED = {
    "empty": "",
    "dot": ".",
    "dot dot": "..",
    "all": "_all",
    "underscore": "_search",
    "minus": "-a",
    "plus": "+a",
    "upper": "Judgements",
    "upper umlaut": "Ä",
    "wildcard": "a*",
    "question mark": "a?",
    "path": "a/b",
    "parent": "../_cluster",
    "backslash": "a\\b",
    "quote": 'a"b',
    "date math": "<a-{now/d}>",
    "greater": "a>b",
    "pipe": "a|b",
    "blank": "a b",
    "leading blank": " a",
    "list": "a,b",
    "fragment": "a#b",
    "remote": "cluster:a",
    "nul": "a\x00",
    "line feed": "a\n",
    "delete": "a\x7f",
    "next line": "a\x85",
    "lone surrogate": "a\udc80",
    "256 bytes": "a" * 256,
    "256 bytes of umlauts": "ä" * 128,
}


@pytest.mark.parametrize("name", LITERAL.values(), ids=LITERAL.keys())
def test_literal(name: str) -> None:
    assert check_index_name(name) == name


@pytest.mark.parametrize("name", REFUSED.values(), ids=REFUSED.keys())
def test_refused(name: str) -> None:
    with pytest.raises(IllegalArgument, match="literal name of one index"):
        check_index_name(name)


def test_the_message_shows_the_name_short_and_escaped() -> None:
    with pytest.raises(IllegalArgument) as caught:
        check_index_name("a\r" + "x" * 10_000)
    assert str(caught.value).startswith('index name "a\\rxxx')
    assert len(str(caught.value)) < 250


@given(st.text(max_size=8))
@settings(max_examples=150, deadline=None)
def test_an_accepted_name_is_one_path_segment(name: str) -> None:
    try:
        check_index_name(name)
    except IllegalArgument:
        return
    assert name == name.lower()
    assert not set(name) & set('\\/*?"<>| ,#:\n\r\x00')
    assert name not in ("", ".", "..")
    assert name[0] not in "-_+"
