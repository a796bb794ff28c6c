"""Counting, capping and halving vote texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.vote import cap_tokens, count_tokens, halve

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def test_a_long_word_is_cut_by_characters():
    # Below 512 tokens (90,000 / 255 = 353), but 1.8 million 1- to 20-grams at one position.
    assert cap_tokens("x" * 90_000) == ("x" * 8192, True)
    assert cap_tokens("x" * 8192) == ("x" * 8192, False)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("?! … ()", 0, id="punctuation"),
        pytest.param("two words", 2, id="words"),
        pytest.param("free free free", 3, id="repeats count"),
        pytest.param("don't l’été", 2, id="apostrophes"),
        pytest.param("3.14 1,000 foo.bar snake_case", 4, id="joined"),
        pytest.param("a-b a, b", 4, id="not joined"),
        pytest.param("हिन्दी भाषा", 2, id="vowel signs belong to the word"),
        pytest.param("한국어 단어", 2, id="Hangul is written with spaces"),
        pytest.param("漢字かなカナ", 6, id="Han, Hiragana, Katakana"),
        pytest.param("東京tower", 3, id="mixed"),
        pytest.param("ไทย", 3, id="Thai"),
        pytest.param("ກຂ", 2, id="Lao"),
        pytest.param("កខ", 2, id="Khmer"),
        pytest.param("ကခ", 2, id="Myanmar"),
        pytest.param("\U00031350", 1, id="Han newer than this Python"),
        pytest.param(f"{FAMILY} \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 4, id="emoji"),
        pytest.param("\U0001fae8", 1, id="emoji newer than this Python"),
        pytest.param("x" * 255, 1, id="longest word"),
        pytest.param("x" * 256, 2, id="cut by the standard tokenizer"),
        pytest.param("x" * 100_000, 393, id="one huge word"),
        pytest.param("\ud800 a", 1, id="lone surrogate"),
        pytest.param("a\0b", 2, id="NUL"),
    ],
)
def test_count(text, tokens):
    assert count_tokens(text) == tokens


@pytest.mark.parametrize(
    ("text", "limit", "capped", "cut"),
    [
        pytest.param("  a b\r\n", 2, "  a b\r\n", False, id="at the cap: unchanged"),
        pytest.param("a b c!", 2, "a b", True, id="above"),
        pytest.param("漢字 ab", 1, "漢", True, id="inside a run"),
        pytest.param("a " + "x" * 600, 3, "a " + "x" * 510, True, id="inside a long word"),
        pytest.param("a " + "x" * 600, 1, "a", True, id="before a long word"),
    ],
)
def test_cap(text, limit, capped, cut):
    assert cap_tokens(text, limit) == (capped, cut)


def test_the_default_cap_is_512_words():
    text = " ".join(f"w{number}" for number in range(600))
    assert cap_tokens(text) == (" ".join(f"w{number}" for number in range(512)), True)


@pytest.mark.parametrize(
    ("text", "half"),
    [
        pytest.param("a b c d", "a b", id="even"),
        pytest.param("a b c", "a", id="odd"),
        pytest.param("abcdef", "abc", id="one word: characters"),
        pytest.param("?!?!", "?!", id="no word: characters"),
        pytest.param("a", "a", id="one character stays"),
        pytest.param("", "", id="empty"),
        pytest.param("x" * 1020, "x" * 510, id="long word: its pieces"),
    ],
)
def test_halve(text, half):
    assert halve(text) == half


@given(st.text(alphabet="ab1 .,'’-_漢ก\u0301\u200d👍🇩\U0001f3fd", max_size=60), st.integers(1, 12))
def test_cap_keeps_a_prefix_within_the_limit(text, limit):
    capped, cut = cap_tokens(text, limit)
    assert text.startswith(capped)
    assert count_tokens(capped) <= limit
    assert cut == (count_tokens(text) > limit)
    assert cut or capped == text


@given(st.text(max_size=80))
def test_halving_ends(text):
    while len(text) > 1:
        half = halve(text)
        assert text.startswith(half)
        assert 0 < len(half) < len(text)
        text = half
