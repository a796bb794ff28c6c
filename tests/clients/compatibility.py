"""`docs/compatibility.md`: what the gates of this folder have shown, with versions.

    SIDECAR_WRITE_COMPATIBILITY=1 python -m pytest tests/clients

Each test says what it has proved once it has; the page is made of that, so it cannot claim more than a run has shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "compatibility.md"


@dataclass(frozen=True)
class Gate:
    """One client at one version, and how a user points it at the sidecar."""

    package: str
    environment: str
    pointing: str


GATES: Mapping[str, Gate] = {
    "elasticsearch 7": Gate("elasticsearch", "elasticsearch7", '`Elasticsearch(["http://127.0.0.1:9201"])`'),
    "elasticsearch 8": Gate("elasticsearch", "elasticsearch8", '`Elasticsearch("http://127.0.0.1:9201")`'),
    "elasticsearch 9": Gate("elasticsearch", "elasticsearch9", '`Elasticsearch("http://127.0.0.1:9201")`'),
    "opensearch-py": Gate("opensearch-py", "opensearch", '`OpenSearch(["http://127.0.0.1:9201"])`'),
    "G1": Gate("jevcompat", "systemone", "`jevcompat test http://127.0.0.1:9201`"),
    "G2": Gate("jevcompat", "systemone", "the same with `--key KEY`"),
    "G3": Gate("typesafe-sdk", "systemone", "`TYPESAFE_BASE_URL=http://127.0.0.1:9201`"),
    "G4": Gate("typesafe-sdk", "systemone-zstd", "the same; extras `zstd`, `http2`"),
    "G5": Gate("@typesafe-ai/sdk", "typesafe-js", "`TYPESAFE_BASE_URL=http://127.0.0.1:9201`"),
    "G6": Gate("jev-reranker", "systemone", "`TYPESAFE_ENDPOINT=http://127.0.0.1:9201/v1/systemone`"),
    "G7": Gate("semantic-operators", "systemone", "`TYPESAFE_BASE_URL=http://127.0.0.1:9201`"),
    "G8": Gate("stuntd", "systemone", '`[jev]` `upstream = "http://127.0.0.1:9201"`'),
    "G9": Gate("decision-gateway", "systemone", '`base_url = "http://127.0.0.1:9201"`, `compression = false`'),
    "G10": Gate("helioai-agent", "helioai", "`TYPESAFE_BASE_URL=http://127.0.0.1:9201`"),
}


Proved = Callable[[str, str], None]
"""Gate and statement."""


@dataclass
class Records:
    """What this run has shown, by gate, in the order of the tests."""

    proved: dict[str, list[str]] = field(default_factory=dict)
    nodes: dict[str, set[str]] = field(default_factory=dict)

    def add(self, gate: str, node: str, statement: str) -> None:
        """Note a statement of a gate, shown in front of that node."""
        statements = self.proved.setdefault(gate, [])
        if statement not in statements:
            statements.append(statement)
        self.nodes.setdefault(gate, set()).add(node)

    def missing(self) -> list[str]:
        """Gates of which this run has shown nothing."""
        return [gate for gate in GATES if gate not in self.proved]


def version_of(gate: Gate) -> str:
    """The pinned version of a gate's package."""
    folder = HERE / "environments"
    pins = folder / f"{gate.environment}.txt"
    text = pins.read_text(encoding="utf-8") if pins.is_file() else _npm_pins(folder / gate.environment)
    found = re.search(rf"^{re.escape(gate.package)}==(\S+)", text, re.MULTILINE)
    assert found, f"{gate.environment} does not pin {gate.package}"
    return found[1]


def _npm_pins(folder: Path) -> str:
    text = (folder / "package.json").read_text(encoding="utf-8")
    return "\n".join(f"{name}=={version}" for name, version in re.findall(r'"(@\S+)": "(\d\S*)"', text))


def render_page(records: Records) -> str:
    """The whole page."""
    rows = [
        f"| {gate.package} {version_of(gate)} | {gate.pointing} | {', '.join(sorted(records.nodes[name]))} |"
        for name, gate in GATES.items()
    ]
    return "\n".join(
        [
            "# Compatibility",
            "",
            "Unmodified clients at exactly these versions, run against a sidecar in front of a real node.",
            "This page is made by the tests in `tests/clients`; it lists what they have shown.",
            "",
            "| client | pointed at the sidecar by | node |",
            "| --- | --- | --- |",
            *rows,
            "",
            *(line for name, gate in GATES.items() for line in _section(name, gate, records.proved[name])),
        ]
    )


def _section(name: str, gate: Gate, statements: Iterable[str]) -> list[str]:
    title = f"{gate.package} {version_of(gate)}"
    title += {"G2": " with a key", "G4": " with compressed requests"}.get(name, "")
    return [f"## {title}", "", *(f"- {statement}" for statement in statements), ""]
