"""Words on both sides of the model: the hypothesis a label becomes, and the class that means "entailed"."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.errors import LocalUnavailable

NEGATIONS = ("not", "non", "no")


def hypothesis(label: str) -> str:
    """The claim that a label makes about a text. The label goes in verbatim: braces and `%s` are just characters."""
    return "This example is " + label + "."


def entailment_row(id2label: Mapping[int, str]) -> int:
    """The row of the logits that means "entailed": the label that equals `entailment`, else one that begins so.

    Compared case-folded; what begins with `not`, `non` or `no` never is it; of several the lowest id.
    Raises  LocalUnavailable naming the labels found
    """
    folded = {row: str(label).casefold() for row, label in sorted(id2label.items())}
    exact = [row for row, label in folded.items() if label == "entailment"]
    near = [row for row, label in folded.items() if label.startswith("entail") and not label.startswith(NEGATIONS)]
    for row in exact + near:
        return row
    found = ", ".join(f'"{label}"' for _, label in sorted(id2label.items())) or "none"
    raise LocalUnavailable(f"the model has no class called entailment; its labels are {found}")
