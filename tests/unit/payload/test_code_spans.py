"""Step 1 of the contract, section 4: what a code span is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.payload import Span, find_spans


def path(text: str) -> Span:
    return Span(text, is_code=False)


def code(text: str) -> Span:
    return Span(text, is_code=True)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("Is this spam?", [], id="no-backtick"),
        pytest.param("Is `mail` spam?", [path("mail")], id="one"),
        pytest.param("`a` and `b`", [path("a"), path("b")], id="two"),
        pytest.param("`a``b`", [path("a``b")], id="a-longer-run-does-not-close"),
        pytest.param("`a` then `a`", [path("a"), path("a")], id="repeats-stay"),
        pytest.param("``documents.doc_0``", [path("documents.doc_0")], id="doubled"),
        pytest.param("```a```", [path("a")], id="tripled"),
        pytest.param("`` a `b` c ``", [path("a `b` c")], id="doubled-holds-single"),
        pytest.param("`  mail\t`", [path("mail")], id="trimmed"),
        pytest.param("`\nmail\n`", [path("mail")], id="trimmed-of-line-breaks-before-the-line-break-rule"),
        pytest.param("` `", [], id="blank"),
        pytest.param("``", [], id="a-run-of-two-and-nothing-else"),
        pytest.param("` ` `a`", [path("a")], id="blank-uses-up-both-its-runs"),
        pytest.param("don`t", [], id="unpaired"),
        pytest.param("don`t read ``mail``", [path("mail")], id="unpaired-single-before-doubled"),
        pytest.param("``don't read `mail`", [path("mail")], id="unpaired-doubled-before-single"),
        pytest.param("`a` don`t", [path("a")], id="unpaired-last"),
        pytest.param("it`s `mail`", [path("s")], id="a-stray-backtick-pairs-with-the-next"),
        pytest.param("``a` b``", [path("a` b")], id="single-inside-doubled-is-content"),
        pytest.param(r"\`a\`", [path("a\\")], id="a-backslash-escapes-nothing"),
        pytest.param("`" + "x" * 256 + "`", [path("x" * 256)], id="256-characters"),
        pytest.param("`" + "x" * 257 + "`", [code("x" * 257)], id="257-characters"),
        pytest.param("`  " + "x" * 256 + "  `", [path("x" * 256)], id="length-after-trimming"),
        pytest.param("`a\nb`", [code("a\nb")], id="line-feed"),
        pytest.param("`a\r\nb`", [code("a\r\nb")], id="carriage-return"),
        pytest.param("`a\u2028b`", [code("a\u2028b")], id="unicode-line-separator"),
        pytest.param("`é.日本`", [path("é.日本")], id="any-script"),
        pytest.param("`a\x00b`", [path("a\x00b")], id="nul-is-text"),
    ],
)
def test_spans(text: str, spans: list[Span]) -> None:
    assert find_spans(text) == spans


def read_character_by_character(text: str) -> list[str]:
    """A second implementation, straight from the sentence of the contract, without any look-ahead table."""
    spans = []
    at = 0
    while at < len(text):
        if text[at] != "`":
            at += 1
            continue
        width = run_length(text, at)
        close = at + width
        while close < len(text) and not (text[close] == "`" and run_length(text, close) == width):
            close += run_length(text, close) or 1
        if close < len(text):
            spans.append(text[at + width : close].strip())
            at = close
        at += width
    return [span for span in spans if span]


def run_length(text: str, at: int) -> int:
    return len(text) - at - len(text[at:].lstrip("`"))


@given(st.text(alphabet="`a. ", max_size=40))
def test_spans_agree_with_a_second_implementation(text: str) -> None:
    assert [span.text for span in find_spans(text)] == read_character_by_character(text)
