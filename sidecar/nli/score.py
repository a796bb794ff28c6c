"""From the model's logits to probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import LocalUnavailable


def entailment(logits: NDArray[np.float32], row: int) -> NDArray[np.float64]:
    """Softmax over the model's classes, in float64, and of it the column `row`.

    logits   shape (n_pairs, n_classes)
    Returns  shape (n_pairs,), in [0, 1]; not finite where the logits are not
    """
    wide = logits.astype(np.float64)
    with np.errstate(invalid="ignore"):  # inf - inf: stays visible as nan
        powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    column: NDArray[np.float64] = powers[:, row] / powers.sum(axis=1)
    return column


def renormalise(entailed: Sequence[float]) -> tuple[float, ...]:
    """Shares between a question's labels; their sum is 1 up to float64.

    Raises  LocalUnavailable when the sum is zero or not finite: no knowledge is never shown as an even split
    """
    total = math.fsum(entailed)
    if not math.isfinite(total) or total <= 0.0:
        raise LocalUnavailable(f"the local model gave no usable score: its entailments sum to {total}")
    return tuple(value / total for value in entailed)
