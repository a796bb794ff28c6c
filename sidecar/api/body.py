"""JSON in and out: one parser and one writer for every route."""

from __future__ import annotations

import json
from typing import cast

import orjson

from sidecar.errors import Problem, SchemaViolation
from sidecar.settings import Limits
from sidecar.terms import JsonValue

MAX_NUMBER_CHARS = 1000
"""A number spelled longer than this is refused; whole numbers already end at 309 digits, where doubles do."""

# orjson holds whole numbers up to 64 bits and turns longer ones into floats; 19 digits are the first that may.
_LONG_NUMBER = b"0" * 19
_ZERO_FOR_DIGIT = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))


def parse_json(body: bytes, limits: Limits) -> JsonValue:
    """Parse a request body; of duplicate keys the last wins.

    Raises  SchemaViolation with one problem of type `json_invalid`: empty, BOM, bad UTF-8, lone surrogates,
            `NaN`, `Infinity`, a number beyond doubles or endlessly long, nesting deeper than `limits.json_depth`
    Cost    O(n); the standard parser runs as well where a digit run might be longer than 64 bits
    """
    if not body or body.isspace():
        raise _invalid("the body is empty; send a JSON object")
    try:
        value = cast(JsonValue, orjson.loads(body))
    except orjson.JSONDecodeError as error:
        # Without `from`: the decoder's exception holds the whole body for as long as ours lives.
        raise _invalid(f"JSON decode error: {error.msg} at line {error.lineno} column {error.colno}") from None
    if _is_deeper(value, body, limits.json_depth):
        raise _invalid(f"nesting is deeper than {limits.json_depth} levels (limits.json_depth)")
    if _LONG_NUMBER in body.translate(_ZERO_FOR_DIGIT):
        # Only what orjson has accepted comes here, so the standard parser's leniency does not show.
        return cast(JsonValue, json.loads(body, parse_int=_int, parse_float=_float))
    return value


def render_json(value: JsonValue) -> bytes:
    """Strict JSON in UTF-8, without spaces. A NaN becomes null, a lone surrogate becomes `?`."""
    try:
        return orjson.dumps(value)
    except TypeError:  # whole numbers beyond 64 bits, lone surrogates, nesting beyond 254
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def json_kind(value: JsonValue) -> str:
    """What a JSON value is, in the words of the JSON standard."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _is_deeper(value: JsonValue, body: bytes, depth: int) -> bool:
    if body.count(b"[") + body.count(b"{") <= depth:
        return False
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _int(text: str) -> int:
    _check_length(text)
    return int(text)


def _float(text: str) -> float:
    _check_length(text)
    return float(text)


def _check_length(text: str) -> None:
    if len(text) > MAX_NUMBER_CHARS:
        raise _invalid(f"a number of {len(text)} characters; at most {MAX_NUMBER_CHARS} are read")


def _invalid(message: str) -> SchemaViolation:
    return SchemaViolation([Problem(("body",), message, "json_invalid")])
