"""Which class means "entailed", and what a label becomes."""

from __future__ import annotations

import pytest

from sidecar.errors import LocalUnavailable
from sidecar.nli import entailment_row, hypothesis

ROWS = {
    "three_classes": ({0: "contradiction", 1: "neutral", 2: "entailment"}, 2),
    "two_classes": ({0: "entailment", 1: "not_entailment"}, 0),
    "two_classes_negation_first": ({0: "not_entailment", 1: "entailment"}, 1),
    "upper_case": ({0: "NEUTRAL", 1: "ENTAILMENT", 2: "CONTRADICTION"}, 1),
    "begins_with_entail": ({0: "refuted", 1: "Entails"}, 1),
    "equal_beats_begin": ({0: "entailed-maybe", 1: "entailment"}, 1),
    "lowest_id_of_several": ({2: "entailed", 1: "entails", 0: "other"}, 1),
}

NO_ROW = {
    "default_names": {0: "LABEL_0", 1: "LABEL_1"},
    "only_negations": {0: "not_entailment", 1: "non-entailment", 2: "no entailment", 3: "nonentailment"},
    "inside_the_word": {0: "is_entailment", 1: "x"},
    "none": {},
}


@pytest.mark.parametrize(("id2label", "row"), ROWS.values(), ids=ROWS)
def test_the_entailment_row(id2label: dict[int, str], row: int) -> None:
    assert entailment_row(id2label) == row


@pytest.mark.parametrize("id2label", NO_ROW.values(), ids=NO_ROW)
def test_without_such_a_row_the_labels_found_are_named(id2label: dict[int, str]) -> None:
    with pytest.raises(LocalUnavailable) as caught:
        entailment_row(id2label)
    assert all(label in str(caught.value) for label in id2label.values())


@pytest.mark.parametrize("label", ["spam", "not spam", "{}", "{0} {x}", "%s %(a)d", '"quoted"', "a.", " ", "\\", "🦑"])
def test_the_label_is_verbatim(label: str) -> None:
    assert hypothesis(label) == "This example is " + label + "."
