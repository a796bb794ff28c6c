"""The example in the room's README runs as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from vote_builders import hit, ladder

from sidecar import vote


@pytest.mark.parametrize(
    ("lookup", "choice", "probability"),
    [
        pytest.param([], "a", 0.666667, id="no correction"),
        pytest.param([hit("x", "b", text="Hello", human=True)], "b", 0.82353, id="corrected"),
        pytest.param([hit("x", "c", text="Hello", human=True)], "a", 0.666667, id="a correction that does not apply"),
    ],
)
def test_example(lookup, choice, probability):
    readme = Path(vote.__file__).with_name("README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names = {name: getattr(vote, name) for name in vote.__all__}
    names |= {
        "hits": ladder("ab"),
        "lookup": lookup,
        "options": ["a", "b"],
        "text": "hello",
        "k": 10,
        "escalate_below": 0.5,
    }
    exec(example, names)
    assert names["choice"] == choice
    assert names["probabilities"][choice] == probability
