"""How many terms a text will become on the node, near enough to stay below its clause limits (proxy.md 10.1).

A token is a word (UAX #29, roughly), or one character of a script written without spaces, or one emoji with its
modifiers. Other analysers count differently; what a node still refuses is halved.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

MAX_TOKENS: Final = 512
"""Half of 1,024, the lowest default clause limit met: room for a filter, synonyms and a second field."""

MAX_CHARS: Final = 8_192
"""Characters of tokens, sixteen for each of 512; what stands between them is free.

An n-gram filter makes its grams of one long word at one position, where no clause limit counts them: a node with a
384 MB heap died of the 1- to 20-grams of a word of 90,000 characters (measured).
"""

PIECE_CHARS: Final = 255
"""The standard tokenizer cuts longer words into pieces of this length, and each is a term."""

_UNSPACED: Final = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x19E0, 0x19FF),  # Khmer symbols
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),  # Han iteration mark, closing mark, zero
    (0x3021, 0x3029),  # Hangzhou numerals
    (0x3038, 0x303B),  # the same, and the vertical iteration mark
    (0x3041, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Myanmar extended
    (0xAA60, 0xAA7F),  # Myanmar extended
    (0xF900, 0xFAFF),  # Han compatibility
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1AFF0, 0x1B16F),  # Kana supplements
    (0x20000, 0x323AF),  # Han extensions, newer ones than this Python knows included
)
_UNSPACED_STARTS: Final = tuple(first for first, _ in _UNSPACED)

# One letter per character (see _Kinds), so that one expression serves all scripts.
_TOKEN: Final = re.compile(
    r"""
      (?P<word> [wd_][wdmz_]* (?: (?: (?<=[wmz])q(?=w) | (?<=[dmz])[qn](?=d) ) [wdmz_]+ )* )
    | c[mz]*
    | ff?[mz]*
    | e[mzs]* (?: (?<=z)e[mzs]* )*
    """,
    re.VERBOSE,
)

_BY_CATEGORY: Final = {"Nd": "d", "Nl": "d", "No": "d", "Pc": "_", "So": "e", "Cf": "m"}
_BY_CHAR: Final = {
    **dict.fromkeys("'.‘’․﹒＇．", "q"),
    **dict.fromkeys(",;٫٬，", "n"),
    "\u200d": "z",
}


class _Kinds(dict[int, str]):
    """Kind of each code point, worked out on first sight.

    w letter, d digit, _ joiner, m mark, z zero-width joiner, q within words or numbers, n within numbers,
    c character of an unspaced script, e emoji or symbol, f half a flag, s skin tone, x everything else
    """

    def __missing__(self, code: int) -> str:
        kind = self[code] = _kind(code)
        return kind


def _kind(code: int) -> str:
    char = chr(code)
    if (known := _BY_CHAR.get(char)) is not None:
        return known
    category = unicodedata.category(char)
    if category[0] == "M":
        return "m"
    if _is_unspaced(code) and category[0] in "LNC":
        return "c"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "f"
    if 0x1F3FB <= code <= 0x1F3FF:
        return "s"
    if 0x1F000 <= code <= 0x1FAFF:  # newer emoji have no category yet
        return "e"
    return "w" if category[0] == "L" else _BY_CATEGORY.get(category, "x")


def _is_unspaced(code: int) -> bool:
    place = bisect_right(_UNSPACED_STARTS, code) - 1
    return place >= 0 and code <= _UNSPACED[place][1]


def _tokens(text: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and number of terms of each token."""
    for match in _TOKEN.finditer(text.translate(_Kinds())):
        start, end = match.span()
        yield start, end, -(-(end - start) // PIECE_CHARS)


def count_tokens(text: str) -> int:
    """How many tokens the text has; 0 means that hardly any analyser finds a term in it."""
    return sum(terms for _, _, terms in _tokens(text))


def cap_tokens(text: str, limit: int = MAX_TOKENS) -> tuple[str, bool]:
    """The text up to its `limit`-th token and `MAX_CHARS` of tokens, and whether that cut anything; else unchanged."""
    if len(text) <= limit:  # a token is at least one character
        return text, False
    left, chars_left = limit, MAX_CHARS
    kept = 0
    for start, end, terms in _tokens(text):
        fitting = min(left * PIECE_CHARS, chars_left)
        if terms > left or end - start > chars_left:
            return text[: start + fitting if fitting else kept], True
        left -= terms
        chars_left -= end - start
        kept = end
    return text, False


def halve(text: str) -> str:
    """The first half of the tokens, or of the characters of a single one; shorter unless one character is left."""
    tokens = count_tokens(text)
    if tokens > 1:
        return cap_tokens(text, tokens // 2)[0]
    return text[: max(1, len(text) // 2)]
