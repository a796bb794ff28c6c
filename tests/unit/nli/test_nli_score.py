"""Logits to probabilities, and shares between labels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sidecar.errors import LocalUnavailable
from sidecar.nli.score import entailment, renormalise


def test_softmax_over_the_classes_by_hand() -> None:
    logits = np.log(np.array([[1, 2, 7], [1, 1, 2]], dtype=np.float32))
    assert entailment(logits, 2) == pytest.approx([0.7, 0.5], abs=1e-7)


def test_extreme_logits_neither_overflow_nor_vanish_early() -> None:
    values = entailment(np.array([[1000, -1000], [-300, 300], [0, 0]], dtype=np.float32), 0)
    assert values[0] == 1.0
    assert 0 < values[1] < 1e-200
    assert values[2] == 0.5


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_broken_logits_stay_visible(bad: float) -> None:
    assert not np.isfinite(entailment(np.array([[bad, 0.0]], dtype=np.float32), 0)).any()


@pytest.mark.parametrize(
    ("entailed", "shares"),
    [((0.2, 0.6), (0.25, 0.75)), ((0.3,), (1.0,)), ((0.0, 0.1), (0.0, 1.0)), ((1e-300, 1e-300), (0.5, 0.5))],
)
def test_renormalised_over_the_labels(entailed: tuple[float, ...], shares: tuple[float, ...]) -> None:
    assert renormalise(entailed) == pytest.approx(shares)


@pytest.mark.parametrize("entailed", [(0.0, 0.0), (math.nan, 0.5), (math.inf, 0.5)], ids=str)
def test_no_usable_sum_is_an_error_and_never_uniform(entailed: tuple[float, ...]) -> None:
    with pytest.raises(LocalUnavailable, match="no usable score"):
        renormalise(entailed)
