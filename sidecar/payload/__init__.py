"""What a question points at. Other rooms use these names and no module below."""

from sidecar.payload.spans import Span, find_spans
from sidecar.payload.state import State, leaf_text
from sidecar.payload.text import (
    ComparativeText,
    VoteText,
    build_question_text,
    build_vote_text,
)

__all__ = [
    "ComparativeText",
    "Span",
    "State",
    "VoteText",
    "build_question_text",
    "build_vote_text",
    "find_spans",
    "leaf_text",
]
