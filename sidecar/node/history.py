"""The searches of a vote: all texts of a request in one `_msearch`, follow-ups in one more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from elastic_transport import TransportError
from elasticsearch import ApiError, AsyncElasticsearch

from sidecar.errors import HistoryIndexError, HistoryUnavailable
from sidecar.node.client import Identity
from sidecar.node.upstream_errors import check_complete, is_clause_limit, refusal, translate
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
)

MAX_HALVINGS = 6


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

    exhausted  the node had no further hits
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


@dataclass
class _Pending:
    """One search on its way through the rounds."""

    search: Search
    text: str
    terms_cut: bool
    size: int
    ask_fields: bool
    halvings: int = 0
    hits: tuple[Hit, ...] = ()
    exhausted: bool = False
    lookup: tuple[Hit, ...] = ()
    open_items: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, search: Search, *, ask_fields: bool) -> _Pending:
        text, cut = cap_tokens(search.text)
        items = ["vote", "lookup"] if search.lookup else ["vote"]
        return cls(search, text, cut, search.k + TIE_MARGIN, ask_fields, open_items=items)

    def body(self, item: str) -> JsonObject:
        scope = self.search.scope
        if item == "lookup":
            return build_correction_lookup(self.text, scope, ask_fields=self.ask_fields)
        return build_vote_search(self.text, scope, self.size, ask_fields=self.ask_fields)

    def accept(self, item: str, answer: dict[str, Any]) -> None:
        check_complete(self.search.scope.index, answer)
        hits = tuple(read_hit(raw, self.search.scope) for raw in answer["hits"]["hits"])
        self.open_items.remove(item)
        if item == "lookup":
            self.lookup = hits
        else:
            self.hits, self.exhausted = hits, len(hits) < self.size

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
        self.open_items = ["vote", "lookup"] if self.search.lookup else ["vote"]

    def wants_more(self) -> bool:
        """Whether one longer search may change who votes for any of the questions."""
        if self.size >= FOLLOW_UP_SIZE:
            return False
        return any(
            needs_follow_up(self.hits, self.search.k, ballot, exhausted=self.exhausted)
            for ballot in self.search.ballots
        )

    def lacks_labels(self) -> bool:
        """Whether `_source` holds no label although the index does: a field alias or a source that is not kept."""
        return bool(self.hits) and not self.ask_fields and all(hit.raw_label is None for hit in self.hits)

    def result(self) -> Retrieved:
        return Retrieved(self.hits, self.exhausted, self.lookup, self.terms_cut)


class HistoryReader:
    """Reads histories through one client. Holds no state but which scopes need `fields`."""

    def __init__(self, client: AsyncElasticsearch) -> None:
        self._client = client
        self._fields_scopes: set[Scope] = set()

    async def fetch_hits(self, searches: Sequence[Search], identity: Identity) -> list[Retrieved]:
        """Ask the node for every search, in as few `_msearch` as their answers allow: one, where no text is refused
        and no tie reaches beyond the margin.

        Cancelling closes the connection, which cancels the searches on the node.
        Raises  the errors of `upstream_errors`; HistoryUnavailable for a partial result
        """
        pending = [_Pending.start(search, ask_fields=search.scope in self._fields_scopes) for search in searches]
        await self._ask_all(pending, identity)
        sourceless = [one for one in pending if one.lacks_labels()]
        for one in sourceless:
            self._remember_fields_scope(one.search.scope)
            one.ask_fields = True
            one.open_items = ["vote", "lookup"] if one.search.lookup else ["vote"]
        if sourceless:
            await self._ask_all(sourceless, identity)
        longer = [one for one in pending if one.wants_more()]
        for one in longer:
            one.size, one.open_items = FOLLOW_UP_SIZE, ["vote"]
        if longer:
            await self._ask_all(longer, identity)
        return [one.result() for one in pending]

    def _remember_fields_scope(self, scope: Scope) -> None:
        if len(self._fields_scopes) >= 256:  # scopes come from callers on /_decide: never an unbounded set
            self._fields_scopes.clear()
        self._fields_scopes.add(scope)

    async def _ask_all(self, pending: Sequence[_Pending], identity: Identity) -> None:
        """Ask until nothing is open; each further round is for texts that the node refused for their clauses."""
        while asked := [(one, item) for one in pending for item in one.open_items]:
            answers = await self._msearch([(one.search.scope, one.body(item)) for one, item in asked], identity)
            refused: dict[int, _Pending] = {}
            for (one, item), answer in zip(asked, answers, strict=True):
                if "error" not in answer:
                    if id(one) not in refused:
                        one.accept(item, answer)
                elif is_clause_limit(answer):
                    refused[id(one)] = one
                else:
                    raise refusal(int(answer.get("status", 500)), answer, one.search.scope.index)
            for one in refused.values():
                one.shorten()

    async def _msearch(self, items: Sequence[tuple[Scope, JsonObject]], identity: Identity) -> list[dict[str, Any]]:
        lines: list[bytes] = []
        for scope, body in items:
            lines.append(orjson.dumps({"index": scope.index, **SEARCH_PARAMS}))
            lines.append(orjson.dumps(body))
        index = items[0][0].index
        try:
            answer = await self._client.perform_request(
                "POST",
                "/_msearch",
                headers={
                    "accept": "application/json",
                    "content-type": "application/x-ndjson",
                    **identity.headers(),
                },
                body=lines,
            )
        except (ApiError, TransportError) as error:
            raise translate(error, index) from error
        responses = answer.body.get("responses")
        if not isinstance(responses, list) or len(responses) != len(items):
            raise HistoryUnavailable("the node answered another number of searches than it was asked")
        return responses
