"""The vote: what to search for, who votes, and what the vote says. Pure; see README.md of this room."""

from sidecar.vote.answers import (
    choice_distribution,
    clamp,
    comparative,
    heaviest,
    noul_probability,
    read_levels,
    rounded,
    score_distribution,
)
from sidecar.vote.corrections import (
    correct_noul,
    correct_shares,
    find_correction,
    insert_correction,
    lookup_is_cut,
    normalise,
    parse_instant,
)
from sidecar.vote.hits import HUMAN_FIELD, SOURCE_FIELD, TS_FIELD, Hit, read_hit
from sidecar.vote.labels import MISSING, Missing, labels_seen, read_label, read_path
from sidecar.vote.query import (
    FOLLOW_UP_SIZE,
    LOOKUP_SIZE,
    SEARCH_PARAMS,
    TIE_MARGIN,
    build_correction_lookup,
    build_vote_search,
)
from sidecar.vote.ranking import Ballot, Ranked, needs_follow_up, order_hits, rank, take_voters, ties_are_cut
from sidecar.vote.settle import (
    arg_max,
    choice_confidence,
    expected_level,
    score_confidence,
    settle,
    settle_levels,
)
from sidecar.vote.tally import tally
from sidecar.vote.tokens import MAX_TOKENS, cap_tokens, count_tokens, halve

__all__ = [
    "FOLLOW_UP_SIZE",
    "HUMAN_FIELD",
    "LOOKUP_SIZE",
    "MAX_TOKENS",
    "MISSING",
    "SEARCH_PARAMS",
    "SOURCE_FIELD",
    "TIE_MARGIN",
    "TS_FIELD",
    "Ballot",
    "Hit",
    "Missing",
    "Ranked",
    "arg_max",
    "build_correction_lookup",
    "build_vote_search",
    "cap_tokens",
    "choice_confidence",
    "choice_distribution",
    "clamp",
    "comparative",
    "correct_noul",
    "correct_shares",
    "count_tokens",
    "expected_level",
    "find_correction",
    "halve",
    "heaviest",
    "insert_correction",
    "labels_seen",
    "lookup_is_cut",
    "needs_follow_up",
    "normalise",
    "noul_probability",
    "order_hits",
    "parse_instant",
    "rank",
    "read_hit",
    "read_label",
    "read_levels",
    "read_path",
    "rounded",
    "score_confidence",
    "score_distribution",
    "settle",
    "settle_levels",
    "take_voters",
    "tally",
    "ties_are_cut",
]
