"""One JSON parser for every route."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.api import parse_json, render_json
from sidecar.errors import SchemaViolation
from sidecar.settings import Limits

LIMITS = Limits()
DEEPEST = LIMITS.json_depth
DIGITS_309 = b"1" + b"0" * 308


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]", core: bytes = b"") -> bytes:
    return opening * depth + core + closing * depth


REFUSED = {
    "empty": b"",
    "blank": b" \r\n\t ",
    "bom": b"\xef\xbb\xbf{}",
    "bom before text": b'\xef\xbb\xbf"a"',
    "utf-16": '{"a":1}'.encode("utf-16"),
    "bad utf-8": b'"\xff"',
    "cut utf-8": b'"\xe2\x82"',
    "overlong utf-8": b'"\xc0\x80"',
    "raw surrogate": b'"\xed\xa0\x80"',
    "escaped high surrogate": b'"\\ud800"',
    "escaped low surrogate": b'"\\udc00"',
    "swapped pair": b'"\\ude00\\ud83d"',
    "surrogate in a key": b'{"\\ud800": 1}',
    "nan": b"NaN",
    "nan inside": b'{"a": [NaN]}',
    "infinity": b"Infinity",
    "minus infinity": b"-Infinity",
    "too large": b"1e400",
    "too large, negative": b"[-1e400]",
    "whole number of 310 digits": b"1" + b"0" * 309,
    "whole number of 5000 digits": b"9" * 5000,
    "fraction of 5000 digits": b"[0." + b"1" * 5000 + b"]",
    "exponent of 5000 digits": b"1e-" + b"0" * 5000 + b"1",
    "zeros before the exponent": b'{"k": 1' + b"0" * 1500 + b"e-1490}",
    "leading zero": b"01",
    "plus": b"+1",
    "hexadecimal": b"0x10",
    "bare fraction": b".5",
    "trailing comma": b"[1,]",
    "single quotes": b"{'a': 1}",
    "comment": b"{} // no",
    "two documents": b"{}{}",
    "raw control character": b'"a\x00b"',
    "unclosed": b'{"a": 1',
    "word": b"hello",
    "one level too deep": nested(DEEPEST + 1),
    "too deep in objects": nested(DEEPEST + 1, b'{"a":', b"}", b"1"),
    "mixed, too deep": nested(DEEPEST // 2, b'[{"a":', b"}]", b"[]"),
    "deeper than the parser": nested(100_000),
    "deep and never closed": b"[" * 100_000,
}
READ: dict[str, tuple[bytes, Any]] = {
    "object": (b' {"a": [1, 2.5, null, true]}\n', {"a": [1, 2.5, None, True]}),
    "scalar": (b"12", 12),
    "duplicate keys": (b'{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
    "escaped nul": (b'"a\\u0000b"', "a\x00b"),
    "pair of surrogates": (b'"\\ud83d\\ude00"', "😀"),
    "raw emoji": ('"😀"'.encode(), "😀"),
    "64 bits": (b"18446744073709551615", 2**64 - 1),
    "65 bits": (b"18446744073709551616", 2**64),
    "65 bits, negative": (b"[-9223372036854775809]", [-(2**63) - 1]),
    "309 digits": (DIGITS_309, 10**308),
    "long fraction": (b"0.1234567890123456789012345", 0.12345678901234568),
    "underflow": (b"1e-400", 0.0),
    "digits are text": (b'{"a": "' + b"7" * 5000 + b'"}', {"a": "7" * 5000}),
    "brackets are text": (b'"' + b"[" * 5000 + b'"', "[" * 5000),
    "wide": (b"[" + b",".join([b"[]"] * 500) + b"]", [[]] * 500),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_refused(body: bytes) -> None:
    with pytest.raises(SchemaViolation) as caught:
        parse_json(body, LIMITS)
    (problem,) = caught.value.problems
    assert (problem.loc, problem.type) == (("body",), "json_invalid")


@pytest.mark.parametrize(("body", "value"), READ.values(), ids=READ.keys())
def test_read(body: bytes, value: Any) -> None:
    parsed = parse_json(body, LIMITS)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("core", [b"", b"1", b'"["'], ids=["empty", "number", "bracket in text"])
@pytest.mark.parametrize("limit", [4, DEEPEST, 200])
def test_deepest(limit: int, core: bytes) -> None:
    limits = Limits(json_depth=limit)
    parse_json(nested(limit, core=core), limits)
    parse_json(nested(limit, b'{"a":', b"}", core or b"1"), limits)
    with pytest.raises(SchemaViolation, match=r"limits\.json_depth"):
        parse_json(nested(limit + 1, core=core), limits)


def test_a_refusal_never_quotes_the_body() -> None:
    with pytest.raises(SchemaViolation) as caught:
        parse_json(b'{"state": "secret text", oops}', LIMITS)
    assert "secret" not in str(caught.value)
    assert "line 1 column 26" in str(caught.value)
    assert caught.value.__cause__ is None


scalars = st.none() | st.booleans() | st.integers(-(10**300), 10**300) | st.text() | st.floats(allow_nan=False)
values = st.recursive(
    scalars.filter(lambda value: not isinstance(value, float) or abs(value) != float("inf")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
@settings(max_examples=60, deadline=None)
def test_what_is_rendered_is_read_back(value: Any) -> None:
    parsed = parse_json(render_json(value), Limits(json_depth=200))
    assert json.dumps(parsed) == json.dumps(value)


@given(st.binary(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_bytes(body: bytes) -> None:
    kinds = ["json_invalid"]
    try:
        parse_json(body, LIMITS)
    except SchemaViolation as error:
        kinds = [problem.type for problem in error.problems]
    assert kinds == ["json_invalid"]


@given(st.text('{}[]",:0123456789eE+-. \\ntrufalsd\u00e9', max_size=12))
@settings(max_examples=300, deadline=None)
def test_agrees_with_the_standard_parser(text: str) -> None:
    try:
        ours = (True, json.dumps(parse_json(text.encode(), LIMITS)))
    except SchemaViolation:
        ours = (False, "")
    try:
        standard = (True, json.dumps(json.loads(text), allow_nan=False))
    except ValueError:
        standard = (False, "")
    assert ours == standard


RENDERED: dict[str, tuple[Any, bytes]] = {
    "utf-8": ({"ä": "😀"}, '{"ä":"😀"}'.encode()),
    "nan": ([float("nan"), float("inf")], b"[null,null]"),
    "whole float": (12.0, b"12.0"),
    "big whole number": ({"a": 2**70}, b'{"a":1180591620717411303424}'),
    "lone surrogate": ("a\udc80b", b'"a?b"'),
    "lone surrogate beside utf-8": (["ä\ud800"], '["ä?"]'.encode()),
}


@pytest.mark.parametrize(("value", "body"), RENDERED.values(), ids=RENDERED.keys())
def test_rendered(value: Any, body: bytes) -> None:
    assert render_json(value) == body


def test_the_deepest_request_can_be_echoed() -> None:
    value: Any = "x"
    for _ in range(300):
        value = [value]
    assert render_json(value) == b"[" * 300 + b'"x"' + b"]" * 300
