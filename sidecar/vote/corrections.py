"""A person's answer to exactly this text stands (decide.md section 7, rule 1)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Final

from sidecar.terms import Label
from sidecar.vote.answers import clamp
from sidecar.vote.hits import Hit
from sidecar.vote.query import LOOKUP_SIZE
from sidecar.vote.ranking import Ranked, sort_bytes

AHEAD: Final = 0.000002
"""How far the corrected label leads: two millionths survive the flooring of both numbers."""

MAJORITY: Final = 0.500001
"""The least share of a noul's corrected side: on its side of one half after rounding."""

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?"
    r"(?:([Zz])|([+-])(\d\d):?(\d\d))?)?",
    re.ASCII,
)
_EPOCH_MILLIS: Final = re.compile(r"-?(?!\d{4}$)\d{1,18}", re.ASCII)  # four digits alone are a year, not RFC 3339
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


def normalise(text: str) -> str:
    """The form in which texts are equal: NFKC, case-folded, runs of whitespace as one space, trimmed."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def find_correction(
    hits: Iterable[Hit], text: str, applies: Callable[[Label], bool], *, human_weight: float
) -> Hit | None:
    """The correction that decides: the latest of a person's documents with this text and an answerable label.

    hits     of the lookup and of the vote, in any order, doubles allowed
    text     the vote text before any cut
    applies  whether the question can answer the label
    """
    if human_weight <= 1.0:
        return None
    wanted = normalise(text)
    standing = [
        hit for hit in hits if hit.human and hit.label is not None and applies(hit.label) and _has_text(hit, wanted)
    ]
    return max(standing, key=_recency, default=None)


def lookup_is_cut(lookup: Sequence[Hit], text: str) -> bool:
    """A full lookup without an equal text: one may lie beyond it."""
    wanted = normalise(text)
    return len(lookup) >= LOOKUP_SIZE and not any(_has_text(hit, wanted) for hit in lookup)


def insert_correction(ranked: Ranked, correction: Hit, k: int) -> Ranked:
    """The ranked hits with the correction among them: at rank 1 if it was not, and the last of k leaves."""
    if any((hit.id, hit.index) == (correction.id, correction.index) for hit in ranked.hits):
        return ranked
    hits = (correction, *ranked.hits)[:k]
    return Ranked(hits, found=len(hits) + ranked.unusable, unusable=ranked.unusable)


def correct_shares(shares: Mapping[Label, float], label: Label, escalate_below: float) -> dict[Label, float]:
    """The shares that a corrected choice, score or `/_decide` is served from, the corrected label first.

    o own support, R = 1 - o, m the heaviest other support, r = m/R, e = escalate_below:
    s = max(o, e, (r + 0.000002)/(1 + r)), every other share times (1 - s)/R; nothing changes where R = 0.
    """
    own = shares.get(label, 0.0)
    rest = 1.0 - own
    others = {other: share for other, share in shares.items() if other != label}
    if rest <= 0.0 or not others:
        return dict(shares)
    ratio = max(others.values()) / rest
    lead = clamp(max(own, escalate_below, (ratio + AHEAD) / (1.0 + ratio)))
    scale = (1.0 - lead) / rest
    return {label: lead, **{other: clamp(share * scale) for other, share in others.items()}}


def correct_noul(probability: float, *, confirms: bool, escalate_below: float) -> float:
    """The probability that a corrected noul is served with.

    probability  support of the positive label
    confirms     the correction carries the positive label
    """
    own = probability if confirms else 1.0 - probability
    if own >= 1.0:
        return probability
    side = clamp(max(own, escalate_below, MAJORITY))
    return side if confirms else 1.0 - side


def _has_text(hit: Hit, wanted: str) -> bool:
    return hit.text is not None and normalise(hit.text) == wanted


def _recency(hit: Hit) -> tuple[bool, int, bytes, bytes]:
    instant = parse_instant(hit.ts)
    return (instant is not None, instant or 0, sort_bytes(hit.id), sort_bytes(hit.index))


def parse_instant(ts: str | None) -> int | None:
    """Attoseconds since 1970 of an RFC 3339 time (UTC where it names no offset) or of epoch milliseconds."""
    if ts is None:
        return None
    if _EPOCH_MILLIS.fullmatch(ts):
        return int(ts) * 10**15
    match = _RFC3339.fullmatch(ts.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3, 4, 5, 6))
    if hour > 24 or minute > 59 or second > 60:  # 60 is a leap second
        return None
    try:
        days = date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError:
        return None
    sign = -1 if match[9] == "-" else 1
    offset_s = sign * (int(match[10] or 0) * 3600 + int(match[11] or 0) * 60)
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset_s
    return seconds * 10**18 + int((match[7] or "").ljust(18, "0"))
