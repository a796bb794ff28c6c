"""Numbers as they leave: six decimals, never NaN."""

from __future__ import annotations

import math

DECIMALS = 6


def rounded(value: float) -> float:
    """Six decimals."""
    assert math.isfinite(value), value
    return round(float(value), DECIMALS)


def share(value: float) -> float:
    """A probability, share or confidence: in [0, 1] whatever floating-point sums did, six decimals."""
    return rounded(min(1.0, max(0.0, value)))
