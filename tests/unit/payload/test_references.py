"""Steps 1 and 2 of the contract, section 4: which spans are references, which are broken, which are code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.errors import IllegalArgument
from sidecar.payload import build_vote_text
from sidecar.payload.grammar import is_plain_path, with_dotted_indices
from sidecar.payload.tree import find
from sidecar.terms import References

LIMIT = 100_000

# id: (instructions, state, text, used, skipped, ignored)
READ: dict[str, tuple[Any, Any, str, list[str], list[str], list[str]]] = {
    # resolving in the state
    "string": ("Is `mail` spam?", {"mail": "buy", "other": "x"}, "buy", ["mail"], [], []),
    "nested": ("`a.b.c`", {"a": {"b": {"c": "deep"}}}, "deep", ["a.b.c"], [], []),
    "doubled-backticks": ("``docs.d0``", {"docs": {"d0": "x"}}, "x", ["docs.d0"], [], []),
    "order-of-appearance": ("`b` or `a`", {"a": "1st", "b": "2nd"}, "2nd 1st", ["b", "a"], [], []),
    "distinct": ("`a` `b` `a`", {"a": "x", "b": "y"}, "x y", ["a", "b"], [], []),
    "array-index": ("`t.1`", {"t": ["x", "y"]}, "y", ["t.1"], [], []),
    "array-leading-zero": ("`t.01`", {"t": ["x", "y"]}, "y", ["t.01"], [], []),
    "array-root": ("`1.text`", [{"text": "x"}, {"text": "y"}], "y", ["1.text"], [], []),
    "array-in-array": ("`m.0.1`", {"m": [["x", "y"]]}, "y", ["m.0.1"], [], []),
    "digits-as-key": ("`t.1`", {"t": {"1": "y"}}, "y", ["t.1"], [], []),
    "key-with-dot": ("`a.b`", {"a.b": "x"}, "x", ["a.b"], [], []),
    "key-with-dot-first": ("`a.b`", {"a": {"b": "short"}, "a.b": "long"}, "long", ["a.b"], [], []),
    "key-with-dot-below": ("`a.b.c`", {"a": {"b.c": "x"}}, "x", ["a.b.c"], [], []),
    "key-with-dot-before": ("`a.b.c`", {"a.b": {"c": "x"}}, "x", ["a.b.c"], [], []),
    "backtrack": ("`a.b.c`", {"a.b": {"d": "no"}, "a": {"b": {"c": "yes"}}}, "yes", ["a.b.c"], [], []),
    "backtrack-off-a-string": ("`a.b.c`", {"a.b": "no", "a": {"b.c": "yes"}}, "yes", ["a.b.c"], [], []),
    "backtrack-twice": (
        "`a.b.c.d`",
        {"a.b.c": {}, "a.b": {"c": {}}, "a": {"b.c": {"x": ""}, "b": {"c.d": "yes"}}},
        "yes",
        ["a.b.c.d"],
        [],
        [],
    ),
    "longest-wins-whatever-type": (
        "`a.b` `m`",
        {"a.b": 1, "a": {"b": "x"}, "m": "y"},
        "y",
        ["m"],
        ["a.b"],
        [],
    ),
    "trailing-dot-in-key": ("`a.`", {"a.": "x"}, "x", ["a."], [], []),
    "empty-key-below": ("`a.`", {"a": {"": "x"}}, "x", ["a."], [], []),
    "odd-key-resolves": ("`body.close()`", {"body.close()": "x"}, "x", ["body.close()"], [], []),
    "key-with-spaces": ("`the mail`", {"the mail": "x"}, "x", ["the mail"], [], []),
    "literal-as-key": ("`true`", {"true": "x"}, "x", ["true"], [], []),
    "bracketed-key-resolves": ("`a[0]`", {"a[0]": "x"}, "x", ["a[0]"], [], []),
    "number-as-index-of-a-list-state": ("`0`", ["x", "y"], "x", ["0"], [], []),
    "text-verbatim-inside": ("`a` `b`", {"a": " x  y ", "b": "z"}, "x  y  z", ["a", "b"], [], []),
    "state-never-scanned": ("`a`", {"a": "see `b`", "b": "x"}, "see `b`", ["a"], [], []),
    # resolving in the instructions
    "own-field": ({"task": "Is `mail` spam?", "mail": "buy"}, {"x": "y"}, "buy", ["mail"], [], []),
    "own-field-first": ({"task": "`mail`", "mail": "own"}, {"mail": "state"}, "own", ["mail"], [], []),
    "own-field-nested": ({"task": "`in.mail`", "in": {"mail": "own"}}, {}, "own", ["in.mail"], [], []),
    "own-field-in-array": ({"task": "`in.1`", "in": ["x", "y"]}, {}, "y", ["in.1"], [], []),
    "own-field-with-dot": ({"task": "`in.mail`", "in.mail": "own"}, {}, "own", ["in.mail"], [], []),
    "own-object-is-no-string": ({"task": "`doc`", "doc": {"x": "no"}}, {"doc": "yes"}, "yes", ["doc"], [], []),
    "own-number-is-no-string": ({"task": "`doc`", "doc": 3}, {"doc": "yes"}, "yes", ["doc"], [], []),
    "own-string-behind-own-object": (
        {"task": "`a.b`", "a.b": {"x": "no"}, "a": {"b": "yes"}},
        {"a.b": "state"},
        "yes",
        ["a.b"],
        [],
        [],
    ),
    "list-of-instructions": (["Is it spam?", "Read `mail`."], {"mail": "x", "o": "y"}, "x", ["mail"], [], []),
    "list-of-fields": ([{"task": "`1.mail`"}, {"mail": "own"}], {}, "own", ["1.mail"], [], []),
    "number-in-a-list-of-instructions": (["Say `1` if so,", "else `0`."], "buy", "buy", [], [], ["1", "0"]),
    # payload leaves
    "payload-not-scanned": ({"task": "`mail`", "mail": "see `x.y`"}, {}, "see `x.y`", ["mail"], [], []),
    "payload-not-scanned-before": ({"mail": "see `x.y`", "task": "`mail`"}, {}, "see `x.y`", ["mail"], [], []),
    "payload-in-array": ({"in": ["see `zz`"], "task": "`in.0`"}, {}, "see `zz`", ["in.0"], [], []),
    "payload-of-payload": ({"a": "x `q`", "b": "y `a`", "task": "`b`"}, {}, "y `a`", ["b"], [], []),
    "mutual-task-first": ({"task": "`mail`", "mail": "`task`"}, {}, "`task`", ["mail"], [], []),
    "mutual-mail-first": ({"mail": "`task`", "task": "`mail`"}, {}, "`mail`", ["task"], [], []),
    "ring-of-three": ({"a": "x `b`", "b": "y `c`", "c": "z `a`"}, {}, "y `c`", ["b"], [], []),
    "ring-of-three-backwards": ({"a": "x `c`", "b": "y `a`", "c": "z `b`"}, {}, "z `b`", ["c"], [], []),
    "ring-named-from-outside": ({"a": "`b`", "b": "`a`", "task": "`a`"}, {}, "`b`", ["a"], [], []),
    "two-prose-leaves": ({"x": "`a`", "y": ["`b`"]}, {"a": "1", "b": "2"}, "1 2", ["a", "b"], [], []),
    "self-is-looked-up-in-state": ({"mail": "Is `mail` spam?"}, {"mail": "buy"}, "buy", ["mail"], [], []),
    "named-leaf-names-itself": ({"task": "`mail`", "mail": "x `mail`"}, {}, "x `mail`", ["mail"], [], []),
    # resolved, but no string
    "object-skipped": ("`a` per `rubric`", {"rubric": {"i": "z"}, "a": "x"}, "x", ["a"], ["rubric"], []),
    "array-skipped": ("`a` `l`", {"l": ["z"], "a": "x"}, "x", ["a"], ["l"], []),
    "scalars-skipped": (
        "`n` `f` `b` `z` `a`",
        {"n": 1, "f": 1.5, "b": True, "z": None, "a": "x"},
        "x",
        ["a"],
        ["n", "f", "b", "z"],
        [],
    ),
    "blank-string-skipped": ("`doc` `q`", {"doc": "", "q": "x"}, "x", ["q"], ["doc"], []),
    "blank-between": ("`a` `e` `b`", {"a": "x", "e": " ", "b": "y"}, "x y", ["a", "b"], ["e"], []),
    "blank-own-field": ({"t": "`doc` `q`", "doc": ""}, {"q": "x"}, "x", ["q"], ["doc"], []),
    # code
    "call": ("`body.close()`", {"body": "x"}, "x", [], [], ["body.close()"]),
    "spaces": ("`GET /`", {"body": "x"}, "x", [], [], ["GET /"]),
    "operator": ("`a=b` `x<y` `p+q`", {"body": "x"}, "x", [], [], ["a=b", "x<y", "p+q"]),
    "quotes": ("`\"spam\"` `'ham'` `“eggs”`", {"m": "x"}, "x", [], [], ['"spam"', "'ham'", "“eggs”"]),
    "true-false-null": ("`true` `false` `null`", {"m": "x"}, "x", [], [], ["true", "false", "null"]),
    "numbers": ("`0` `-1` `0.5` `1e9`", {"m": "x"}, "x", [], [], ["0", "-1", "0.5", "1e9"]),
    "option-flag": ("`--force` `-v`", {"m": "x"}, "x", [], [], ["--force", "-v"]),
    "ellipsis": ("`...` `.env` `a..b`", {"m": "x"}, "x", [], [], ["...", ".env", "a..b"]),
    "no-dot-and-string-state": ("Is it `spam`?", "buy now", "buy now", [], [], ["spam"]),
    "no-dot-and-string-state-own-object": ({"t": "`r`", "r": {"i": "z"}}, "buy", "buy", [], [], ["r"]),
    "bracket-first-segment-no-key": ("`argv[0]` of `m`", {"m": "x"}, "x", ["m"], [], ["argv[0]"]),
    "bracket-without-digits": ("`m[i]` `m[-1]`", {"m": "x"}, "x", [], [], ["m[i]", "m[-1]"]),
    "bracket-alone": ("`[0]` of it", {"m": "x"}, "x", [], [], ["[0]"]),
    "unknown-beside-reference": ("`m` or `GET`", {"m": "x"}, "x", ["m"], [], ["GET"]),
    "unknown-beside-object": ("`r` or `GET`", {"r": {"i": "z"}}, "z", ["r"], [], ["GET"]),
    "unknown-dotted-beside-reference": ("`m` `os.path`", {"m": "x"}, "x", ["m"], [], ["os.path"]),
    "below-string-beside-reference": ("`m` `m.lower`", {"m": "x"}, "x", ["m"], [], ["m.lower"]),
    "below-number-beside-reference": ("`m` `n.real`", {"m": "x", "n": 3}, "x", ["m"], [], ["n.real"]),
    "below-own-string-beside-reference": ({"t": "`m` `t.lower`"}, {"m": "x"}, "x", ["m"], [], ["t.lower"]),
    "long": ("`" + "y" * 257 + "` `m`", {"m": "x", "y" * 257: "no"}, "x", ["m"], [], ["y" * 257]),
    "two-lines": ("`a\nb`", {"a\nb": "x"}, "x", [], [], ["a\nb"]),
    "code-alone-reads-the-state": ("`f()`", ["x", {"y": "z"}], "x z", [], [], ["f()"]),
}


@pytest.mark.parametrize(("instructions", "state", "text", "used", "skipped", "ignored"), READ.values(), ids=READ)
def test_reading(
    instructions: Any, state: Any, text: str, used: list[str], skipped: list[str], ignored: list[str]
) -> None:
    vote_text = build_vote_text("q", instructions, state, LIMIT)
    assert vote_text.text == text
    assert vote_text.references == References(tuple(used), tuple(skipped), tuple(ignored))


# id: (instructions, state, broken paths, hints)
BROKEN: dict[str, tuple[Any, Any, list[str], list[str]]] = {
    "nothing-resolved": ("`mial`", {"mail": "x"}, ["mial"], []),
    "nothing-resolved-dotted-string-state": ("`os.path`", "buy", ["os.path"], []),
    "nothing-resolved-below-string": ("`mail.lower`", {"mail": "x"}, ["mail.lower"], []),
    "nothing-resolved-list-state": ("`mail`", ["x"], ["mail"], []),
    "hyphen-is-plain": ("`spam-score`", {"mail": "x"}, ["spam-score"], []),
    "first-segment-is-a-key": ("`m` `doc.bdy`", {"m": "x", "doc": {"body": "y"}}, ["doc.bdy"], []),
    "first-segment-has-a-dot": ("`m` `a.b.bdy`", {"m": "x", "a.b": {"body": "y"}}, ["a.b.bdy"], []),
    "below-boolean": ("`m` `b.x`", {"m": "x", "b": True}, ["b.x"], []),
    "below-null": ("`m` `b.x`", {"m": "x", "b": None}, ["b.x"], []),
    "index-out-of-range": ("`m` `t.2`", {"m": "x", "t": ["a", "b"]}, ["t.2"], []),
    "index-of-another-script": ("`m` `t.١`", {"m": "x", "t": ["a", "b"]}, ["t.١"], []),
    "name-at-an-array": ("`m` `t.x`", {"m": "x", "t": ["a"]}, ["t.x"], []),
    "key-of-the-instructions": ({"t": "`m` `doc.bdy`", "doc": {"body": "y"}}, {"m": "x"}, ["doc.bdy"], []),
    "own-object-not-in-the-state": ({"t": "`m` `r`", "r": {"i": "z"}}, {"m": "x"}, ["r"], []),
    "self-only": ({"task": "Do the `task`"}, {"m": "x"}, ["task"], []),
    "every-path": ("`aa` `b.b` `cc`", {"m": "x"}, ["aa", "b.b", "cc"], []),
    "brackets": ("`t[0]`", {"t": ["x"]}, ["t[0]"], ["t.0"]),
    "brackets-beside-reference": ("`m` `t[0].x`", {"m": "x", "t": [{"x": "y"}]}, ["t[0].x"], ["t.0.x"]),
    "brackets-twice": ("`t[0][12]`", {"t": [["x"]]}, ["t[0][12]"], ["t.0.12"]),
    "brackets-need-not-resolve": ("`m` `m[9]`", {"m": "x"}, ["m[9]"], ["m.9"]),
    "brackets-key-of-the-instructions": ({"t": "`in[0]`", "in": ["x"]}, "buy", ["in[0]"], ["in.0"]),
    "brackets-and-names": ("`t[0]` `zz`", {"t": ["x"]}, ["t[0]", "zz"], ["t.0"]),
}


@pytest.mark.parametrize(("instructions", "state", "paths", "hints"), BROKEN.values(), ids=BROKEN)
def test_broken_paths_are_refused_by_name(instructions: Any, state: Any, paths: list[str], hints: list[str]) -> None:
    with pytest.raises(IllegalArgument) as refused:
        build_vote_text("is it?", instructions, state, LIMIT)
    message = str(refused.value)
    assert "question `is it?`" in message
    assert [path for path in paths if f"`{path}`" not in message] == []
    assert [hint for hint in hints if f"(write [digits] as .digits: `{hint}`)" not in message] == []
    assert ("[digits]" in message) == bool(hints)


def test_a_refusal_shows_no_value_and_no_code() -> None:
    with pytest.raises(IllegalArgument) as refused:
        build_vote_text("q", {"t": "`m.x` `f()`", "o": "SECRET"}, {"m": {"y": "SECRET"}}, LIMIT)
    assert "SECRET" not in str(refused.value)
    assert "f()" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        *(
            pytest.param(text, True, id=text)
            for text in ["a", "a.b", "doc_1", "spam-score", "3.11.x", "é", "日本", "📧"]
        ),
        pytest.param("संदेश", True, id="combining-marks"),
        *(
            pytest.param(text, False, id=text)
            for text in ["", ".", "a.", ".a", "a..b", "a b", "a\tb", "-a", "a.-b", "a:b", "$a", "@a", "a/b", "a,b"]
        ),
        *(pytest.param(text, False, id=text) for text in ["a[0]", "f()", "{a}", "a|b", "x×y", "a→b", "a`b", "a\x00b"]),
    ],
)
def test_plain_paths(text: str, plain: bool) -> None:
    assert is_plain_path(text) is plain


@pytest.mark.parametrize(
    ("text", "dotted"),
    [("a[0]", "a.0"), ("a[0].b[1]", "a.0.b.1"), ("a", None), ("[0]", None), ("a.[0]", None), ("a[0]()", None)],
)
def test_indices_in_brackets(text: str, dotted: str | None) -> None:
    assert with_dotted_indices(text) == dotted


def every_way(node: Any, rest: list[str]) -> Iterator[Any]:
    """A second implementation of step 2: recursive, on segments, with the longest key tried first."""
    if not rest:
        yield node
    elif isinstance(node, dict):
        for taken in range(len(rest), 0, -1):
            key = ".".join(rest[:taken])
            if key in node:
                yield from every_way(node[key], rest[taken:])
    elif isinstance(node, list) and rest[0] in [str(at) for at in range(len(node))]:
        yield from every_way(node[int(rest[0])], rest[1:])


KEYS = st.sampled_from(["a", "b", "a.b", "a.a", "b.a.b", "0", "1", "", "."])
TREES = st.recursive(
    st.sampled_from(["x", "y", 1, None]),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=10,
)


@given(TREES, st.lists(st.sampled_from(["a", "b", "0", "1", ""]), min_size=1, max_size=6))
def test_paths_agree_with_a_second_implementation(tree: Any, segments: list[str]) -> None:
    expected = list(every_way(tree, segments))
    end = find(tree, ".".join(segments))
    assert ([] if end is None else [end.value]) == expected[:1]
