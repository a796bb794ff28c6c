"""What the mapping of a history allows: whether its text can vote and how its labels can be counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elastic_transport import TransportError
from elasticsearch import ApiError, AsyncElasticsearch

from sidecar.errors import HistoryIndexError
from sidecar.node.client import Identity, index_path
from sidecar.node.upstream_errors import translate
from sidecar.terms import IndexName, Scope
from sidecar.vote import HUMAN_FIELD, SOURCE_FIELD, TS_FIELD

KEYWORD_SUBFIELDS = ("keyword", "raw")
_COUNTABLE = {
    "keyword",
    "boolean",
    "byte",
    "short",
    "integer",
    "long",
    "unsigned_long",
    "constant_keyword",
    "double",
    "float",
    "half_float",
    "scaled_float",
}


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """A field as `_field_caps` describes it: its types (one per index behind an alias) and whether it is searchable."""

    types: tuple[str, ...]
    searchable: bool


@dataclass(frozen=True, slots=True)
class MappingFacts:
    """The facts of a scope's fields; a field that no index maps is None.

    countable_label  the field whose terms are the labels, None where labels cannot be counted natively
    """

    text: FieldFacts | None
    label: FieldFacts | None
    countable_label: str | None


async def fetch_mapping(client: AsyncElasticsearch, scope: Scope, identity: Identity) -> MappingFacts:
    """Ask the node once for the text and label field of a scope.

    Raises  the errors of `upstream_errors`, IndexMissing among them
    """
    subfields = _subfields(scope)
    fields = await _field_caps(client, scope, identity, [scope.text_field, scope.label_field, *subfields])
    countable = next((name for name in (scope.label_field, *subfields) if set(fields.get(name, {})) & _COUNTABLE), None)
    return MappingFacts(_facts(fields, scope.text_field), _facts(fields, scope.label_field), countable)


async def fetch_doc_values(client: AsyncElasticsearch, scope: Scope, identity: Identity) -> dict[str, str]:
    """Which members of a document can be read from doc values: member → field, the label's own or a keyword below it.

    Raises  as `fetch_mapping`
    """
    labels = [scope.label_field, *_subfields(scope)]
    others = [HUMAN_FIELD, SOURCE_FIELD, TS_FIELD]
    fields = await _field_caps(client, scope, identity, [*labels, *others])
    readable = [name for name in (*labels, *others) if _has_doc_values(fields.get(name, {}))]
    label = next((name for name in labels if name in readable), None)
    kept = {name: name for name in others if name in readable}
    return kept if label is None else {scope.label_field: label, **kept}


def _has_doc_values(capabilities: dict[str, Any]) -> bool:
    """Aggregatable, but for a text field with fielddata, whose terms are no values."""
    mapped = {kind: facts for kind, facts in capabilities.items() if kind != "unmapped"}
    return bool(mapped) and "text" not in mapped and all(facts["aggregatable"] for facts in mapped.values())


def _subfields(scope: Scope) -> list[str]:
    return [f"{scope.label_field}.{name}" for name in KEYWORD_SUBFIELDS]


async def _field_caps(
    client: AsyncElasticsearch, scope: Scope, identity: Identity, names: Sequence[str]
) -> dict[str, Any]:
    try:
        answer = await client.perform_request(
            "POST",
            index_path(scope.index) + "/_field_caps",
            params={"fields": ",".join(names)},
            headers={"accept": "application/json", **identity.headers()},
        )
    except (ApiError, TransportError) as error:
        raise translate(error, scope.index) from error
    return dict(answer.body["fields"])


def _facts(fields: dict[str, Any], name: str) -> FieldFacts | None:
    capabilities = {kind: facts for kind, facts in fields.get(name, {}).items() if kind != "unmapped"}
    if not capabilities:
        return None
    return FieldFacts(tuple(sorted(capabilities)), all(facts["searchable"] for facts in capabilities.values()))


def check_mapping(scope: Scope, facts: MappingFacts, *, holds_documents: bool) -> None:
    """Raise HistoryIndexError where this mapping can never give a vote; an empty index may still become a history."""
    if facts.text is None:
        if holds_documents:
            raise _unusable(scope.index, scope.text_field, "is not in the mapping (or lies under `enabled: false`)")
    elif facts.text.types != ("text",):
        raise _unusable(scope.index, scope.text_field, f"is {' and '.join(facts.text.types)}, not text")
    elif not facts.text.searchable:
        raise _unusable(scope.index, scope.text_field, "is text with `index: false` and cannot be searched")
    if facts.label is None and holds_documents:
        raise _unusable(scope.index, scope.label_field, "is not in the mapping (or lies under `enabled: false`)")


def _unusable(index: IndexName, field: str, cause: str) -> HistoryIndexError:
    return HistoryIndexError(f"history index [{index}] cannot vote: field [{field}] {cause}")
