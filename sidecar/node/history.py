"""The searches of a vote: all texts of a request in one `_msearch`, follow-ups in one more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from elastic_transport import TransportError
from elasticsearch import AsyncElasticsearch

from sidecar.errors import HistoryIndexError, HistoryUnavailable, IndexMissing, SidecarError
from sidecar.node.client import Identity
from sidecar.node.mapping import check_mapping, fetch_doc_values, fetch_mapping
from sidecar.node.upstream_errors import (
    challenges,
    check_complete,
    is_clause_limit,
    is_source_disabled,
    refusal,
    translate,
)
from sidecar.terms import JsonObject, Scope
from sidecar.vote import (
    FOLLOW_UP_SIZE,
    LOOKUP_SIZE,
    SEARCH_PARAMS,
    TIE_MARGIN,
    Ballot,
    Hit,
    build_correction_lookup,
    build_vote_search,
    cap_tokens,
    halve,
    needs_follow_up,
    read_hit,
    take_voters,
)

MAX_HALVINGS = 6
MAX_READINGS = 256


@dataclass(frozen=True, slots=True)
class Search:
    """One text to be voted on in one scope, by questions whose `ballots` say which hits may vote.

    lookup  also look for a person's document with this very text
    """

    text: str
    scope: Scope
    k: int
    ballots: tuple[Ballot, ...]
    lookup: bool


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the node knows about one text.

    exhausted  no further hit can vote: the node had none, or those left out lie below the k-th
    lookup     hits of the correction lookup, () when none was asked for
    terms_cut  the text was cut before the node would take it
    """

    hits: tuple[Hit, ...]
    exhausted: bool
    lookup: tuple[Hit, ...] = ()
    terms_cut: bool = False

    @property
    def lookup_full(self) -> bool:
        """Whether the lookup may have missed documents."""
        return len(self.lookup) >= LOOKUP_SIZE


@dataclass(frozen=True, slots=True)
class Reading:
    """Where the members of a scope's documents are read, beyond `_source`.

    ask_fields  through `fields`, where a source is kept but does not hold them (field alias, synthetic source)
    source      False where an index keeps none: the node refuses to be asked for any
    doc_values  through doc values then: our name of a member → the field
    """

    ask_fields: bool = False
    source: bool = True
    doc_values: Mapping[str, str] = field(default_factory=dict)

    def named(self, raw: dict[str, Any]) -> dict[str, Any]:
        """The hit, with its doc values under the names of the members."""
        fields = raw.get("fields")
        if not self.doc_values or not isinstance(fields, dict):
            return raw
        return raw | {"fields": {name: fields[at] for name, at in self.doc_values.items() if at in fields}}


SOURCE_ONLY = Reading()


@dataclass
class _Pending:
    """One search on its way through the rounds."""

    search: Search
    text: str
    terms_cut: bool
    size: int
    reading: Reading
    halvings: int = 0
    hits: tuple[Hit, ...] = ()
    exhausted: bool = False
    lookup: tuple[Hit, ...] = ()
    open_items: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, search: Search, reading: Reading) -> _Pending:
        text, cut = cap_tokens(search.text)
        pending = cls(search, text, cut, search.k + TIE_MARGIN, reading)
        pending.reopen()
        return pending

    def reopen(self) -> None:
        """Ask for everything, again."""
        self.open_items = ["vote", "lookup"] if self.search.lookup else ["vote"]

    def body(self, item: str) -> JsonObject:
        scope, ask, doc_values = self.search.scope, self.reading.ask_fields, list(self.reading.doc_values.values())
        if item == "lookup":
            body = build_correction_lookup(self.text, scope, ask_fields=ask, doc_values=doc_values)
        else:
            body = build_vote_search(self.text, scope, self.size, ask_fields=ask, doc_values=doc_values)
        return body if self.reading.source else body | {"_source": False}

    def accept(self, item: str, answer: dict[str, Any]) -> None:
        check_complete(self.search.scope.index, answer)
        found = answer["hits"]["hits"]
        hits = (read_hit(self.reading.named(raw), self.search.scope) for raw in found)
        self.open_items.remove(item)
        if item == "lookup":
            self.lookup = tuple(hits)
        else:
            self.hits, decided = take_voters(hits, self.search.k, self.search.ballots)
            self.exhausted = decided or len(found) < self.size

    def shorten(self) -> None:
        """Halve the text for another try; both items ask for the same text again."""
        shorter = halve(self.text)
        if self.halvings == MAX_HALVINGS or shorter == self.text:
            scope = self.search.scope
            raise HistoryIndexError(
                f"history index [{scope.index}] refuses even a short text on field [{scope.text_field}]: its analyser "
                "makes too many terms of it; vote on a plainer (sub-)field by text_field"
            )
        self.text, self.terms_cut, self.halvings = shorter, True, self.halvings + 1
        self.reopen()

    def wants_more(self) -> bool:
        """Whether one longer search may change who votes for any of the questions."""
        if self.size >= FOLLOW_UP_SIZE:
            return False
        return any(
            needs_follow_up(self.hits, self.search.k, ballot, exhausted=self.exhausted)
            for ballot in self.search.ballots
        )

    def lacks_labels(self) -> bool:
        """Whether `_source` lacks a label that the index has: a field alias, or a rebuilt source.

        One such hit is enough: an alias may stand for indices of either kind.
        """
        return self.reading == SOURCE_ONLY and any(hit.raw_label is None for hit in self.hits)

    def result(self) -> Retrieved:
        return Retrieved(self.hits, self.exhausted, self.lookup, self.terms_cut)


class HistoryReader:
    """Reads histories through one client. Holds no state but where the labels of a scope are read."""

    def __init__(self, client: AsyncElasticsearch) -> None:
        self._client = client
        self._readings: dict[tuple[Scope, str | None], Reading] = {}

    async def fetch_hits(self, searches: Sequence[Search], identity: Identity) -> list[Retrieved]:
        """Ask the node for every search, in as few `_msearch` as their answers allow: one, where no text is refused
        and no tie reaches beyond the margin.

        Cancelling closes the connection, which cancels the searches on the node.
        Raises  the errors of `upstream_errors`; HistoryUnavailable for a partial result
        """
        known = [self._readings.get((search.scope, identity.authorization), SOURCE_ONLY) for search in searches]
        pending = [_Pending.start(search, reading) for search, reading in zip(searches, known, strict=True)]
        await self._ask_all(pending, identity)
        unread = [one for one in pending if one.lacks_labels()]
        for one in unread:
            one.reading = self._remember(one.search.scope, identity, Reading(ask_fields=True))
            one.reopen()
        if unread:
            await self._ask_all(unread, identity)
        longer = [one for one in pending if one.wants_more()]
        for one in longer:
            one.size, one.open_items = FOLLOW_UP_SIZE, ["vote"]
        if longer:
            await self._ask_all(longer, identity)
        return [one.result() for one in pending]

    def _remember(self, scope: Scope, identity: Identity, reading: Reading) -> Reading:
        if len(self._readings) >= MAX_READINGS:  # scopes come from callers on /_decide: never an unbounded table
            self._readings.clear()
        self._readings[scope, identity.authorization] = reading
        return reading

    async def _read_doc_values(self, pending: Iterable[_Pending], identity: Identity) -> None:
        """Ask again without a source."""
        readings: dict[Scope, Reading] = {}
        for one in pending:
            scope = one.search.scope
            if scope not in readings:
                values = await fetch_doc_values(self._client, scope, identity)
                readings[scope] = self._remember(scope, identity, Reading(source=False, doc_values=values))
            one.reading = readings[scope]
            one.reopen()

    async def _ask_all(self, pending: Sequence[_Pending], identity: Identity) -> None:
        """Ask until nothing is open; each further round is for texts that the node refused for their clauses."""
        while asked := [(one, item) for one in pending for item in one.open_items]:
            answers = await self._msearch([(one.search.scope, one.body(item)) for one, item in asked], identity)
            refused: dict[int, _Pending] = {}
            sourceless: dict[int, _Pending] = {}
            for (one, item), answer in zip(asked, answers, strict=True):
                # Of several indices one may refuse the text and the others answer it: then there is no error.
                failure = answer if "error" in answer else answer.get("_shards")
                if is_clause_limit(failure):
                    refused[id(one)] = one
                elif one.reading.source and is_source_disabled(failure):
                    sourceless[id(one)] = one
                elif "error" in answer:
                    error = refusal(int(answer.get("status", 500)), answer, one.search.scope.index)
                    raise await self._explained(error, one.search.scope, identity)
                elif id(one) not in refused and id(one) not in sourceless:
                    one.accept(item, answer)
            await self._read_doc_values(sourceless.values(), identity)
            for one in refused.values():
                one.shorten()

    async def _explained(self, error: SidecarError, scope: Scope, identity: Identity) -> SidecarError:
        """The refusal of a search, in words of the mapping where that is the cause.

        Raises  HistoryIndexError naming the field
        """
        if not isinstance(error, HistoryIndexError) or isinstance(error, IndexMissing):
            return error
        check_mapping(scope, await fetch_mapping(self._client, scope, identity), holds_documents=False)
        where = f"field [{scope.text_field}]"
        return HistoryIndexError(f"{error} on {where}" + ("; check the question's `filter`" if scope.filter else ""))

    async def _msearch(self, items: Sequence[tuple[Scope, JsonObject]], identity: Identity) -> list[dict[str, Any]]:
        lines: list[bytes] = []
        for scope, body in items:
            lines.append(orjson.dumps({"index": scope.index, **SEARCH_PARAMS}))
            lines.append(orjson.dumps(body))
        index = items[0][0].index
        headers = {"accept": "application/json", "content-type": "application/x-ndjson", **identity.headers()}
        try:
            # The client's transport itself: its API layer costs as much CPU as the whole tally (measured 0.1 ms).
            meta, body = await self._client.transport.perform_request("POST", "/_msearch", headers=headers, body=lines)
        except TransportError as error:
            raise translate(error, index) from error
        if meta.status >= 400:
            raise refusal(meta.status, body, index, challenges=challenges(meta.headers))
        responses = body.get("responses")
        if not isinstance(responses, list) or len(responses) != len(items):
            raise HistoryUnavailable("the node answered another number of searches than it was asked")
        return responses
