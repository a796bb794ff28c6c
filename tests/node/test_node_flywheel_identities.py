"""No confused deputy: who writes what on a secured node (decide.md section 8)."""

from __future__ import annotations

from pathlib import Path

import pytest
from flywheel_words import FIELDS, SPAM, armed, decide_id, settled, stored
from node_harness import on_node, recording
from test_node_refusals import _basic, _pbkdf2

from sidecar.engine import running_node
from sidecar.settings import History, Upstream

WORDS = {"boss": "of-boss", "reader": "of-reader", "writer": "of-writer", "own": "of-own"}
ROLES = (
    "reads: {indices: [{names: ['hers', 'ours'], privileges: [read]}]}\n"
    "writes: {indices: [{names: ['hers', 'new'], privileges: [read, write, create_index]}]}\n"
    "side: {cluster: [monitor], indices: [{names: ['ours'], privileges: [read, write, create_index]}]}\n"
)


async def test_writes_carry_the_right_identity(tiny_model_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {
        "users": "".join(f"{user}:{{PBKDF2}}10000${_pbkdf2(word)}\n" for user, word in WORDS.items()),
        "users_roles": "superuser:boss\nreads:reader\nwrites:writer\nside:own\n",
        "roles.yml": ROLES,
    }
    with running_node("elasticsearch8", config={"xpack.security.enabled": True}, files=files) as node:
        async with (
            recording(node.url) as recorder,
            on_node(node.url, headers=_basic("boss", "of-boss")) as (direct, _),
        ):
            for index in ("hers", "ours"):
                await direct.index(index, [{"text": "alpha", "label": "spam"}], FIELDS)
            upstream = Upstream(url=recorder.url, username="own", password="of-own")
            history = History(index="ours", positive_label="spam")
            async with armed(recorder.url, history, tiny_model_dir, upstream=upstream) as (_, client):
                reader, writer = _basic("reader", "of-reader"), _basic("writer", "of-writer")

                def writers() -> set[str | None]:
                    found = {one.authorization for one in recorder.seen if one.path.startswith("/_bulk")}
                    recorder.seen.clear()
                    return found

                # An index that nobody configured: the caller's own word, and the node's answer to it.
                refused = await client.decide("hers", SPAM, headers=reader)
                assert (refused.status, refused.body["label"]) == (200, "spam")
                await settled(client, refused=1)
                assert writers() == {reader["Authorization"]}
                assert len(await stored(direct, "hers")) == 1
                await client.decide("hers", SPAM, headers=writer)
                await settled(client, refused=1, written=1)
                assert writers() == {writer["Authorization"]}
                assert decide_id(SPAM) in await stored(direct, "hers")
                # A configured history is written by the sidecar, whoever may read it asks.
                await client.decide("ours", SPAM, headers=reader)
                await settled(client, refused=1, written=2)
                assert writers() == {_basic("own", "of-own")["Authorization"]}
                # Creating is the caller's own affair too.
                await client.decide("new", SPAM, positive_label="spam", create=True, headers=writer)
                await settled(client, refused=1, written=3)
                assert decide_id(SPAM) in await stored(direct, "new")
    for secret in (*WORDS.values(), reader["Authorization"], writer["Authorization"], SPAM):
        assert secret not in caplog.text
