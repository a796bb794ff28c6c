"""Joining, cutting and batching of token ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.nli.pairs import Frame, Pair, batches, find_frame, premise_room

BERT = Frame(before=(1,), between=(2,), after=(2,), types=(0, 0, 0, 1, 1))
XLNET = Frame((), (3,), (3, 4), (0, 0, 0, 1, 1))
ROBERTA = Frame(before=(0,), between=(2, 2), after=(2,), types=(0, 0, 0, 0, 0))

ENCODED = {
    "bert": ([1, 7, 8, 2, 9, 2], [0, 0, 0, 0, 1, 1], [None, 0, 0, None, 1, None], BERT),
    "roberta": ([0, 7, 8, 2, 2, 9, 2], [0] * 7, [None, 0, 0, None, None, 1, None], ROBERTA),
    "bare": ([7, 9], [0, 1], [0, 1], Frame((), (), (), (0, 0, 0, 1, 0))),
    "class_token_last": (
        [7, 3, 9, 3, 4],
        [0, 0, 1, 1, 1],
        [0, None, 1, None, None],
        Frame((), (3,), (3, 4), (0, 0, 0, 1, 1)),
    ),
    "hypothesis_first": ([1, 9, 2, 7, 2], [0] * 5, [None, 1, None, 0, None], None),
    "no_hypothesis": ([1, 7, 2], [0] * 3, [None, 0, None], None),
    "types_change_within_a_segment": ([1, 7, 8, 2, 9, 2], [0, 0, 1, 0, 1, 1], [None, 0, 0, None, 1, None], None),
}


@pytest.mark.parametrize(("ids", "types", "sequences", "frame"), ENCODED.values(), ids=ENCODED)
def test_the_frame_is_read_off_an_encoded_pair(
    ids: list[int], types: list[int], sequences: list[int | None], frame: Frame | None
) -> None:
    assert find_frame(ids, types, sequences) == frame


def test_joining_puts_the_frame_around_other_texts() -> None:
    assert BERT.join([5, 6], [7]) == (1, 5, 6, 2, 7, 2)
    assert BERT.join_types(2, 1) == (0, 0, 0, 0, 1, 1)
    assert ROBERTA.join([], [7]) == (0, 2, 2, 7, 2)


@pytest.mark.parametrize(("n_hypothesis", "room"), [(1, 8), (8, 1), (9, 0), (12, -3)])
def test_the_room_for_a_premise(n_hypothesis: int, room: int) -> None:
    assert premise_room(12, BERT, n_hypothesis) == room


rows = st.lists(st.integers(0, 3), min_size=1, max_size=6).map(tuple).map(lambda ids: Pair(len(ids), ids, ids))


@given(st.lists(rows, max_size=40), st.integers(1, 20), st.randoms(use_true_random=False))
def test_batches_hold_each_pair_once_in_equal_lengths_within_the_bound(pairs, max_tokens, random) -> None:
    made = list(batches(pairs, max_tokens))
    flat = [pair for batch in made for pair in batch]
    assert len(flat) == len(set(flat))
    assert set(flat) == set(pairs)
    for batch in made:
        assert {pair.length for pair in batch} == {batch[0].length}
        assert len(batch) == 1 or len(batch) * batch[0].length <= max_tokens
    random.shuffle(pairs)
    assert list(batches(pairs, max_tokens)) == made
