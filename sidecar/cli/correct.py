"""`sidecar correct`: a person's word on a case, stored as an ordinary document and shown to vote."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime

import click
from rich.console import Console

from sidecar.api import DecideRequest, Decision, check_index_name
from sidecar.cli.decide import PIPED_COLUMNS, print_decision
from sidecar.cli.options import settings_options
from sidecar.decide import AuditDecider
from sidecar.errors import CorrectionError, IllegalArgument
from sidecar.node import Corrections, HistoryReader, LabelReader, connect, corrected, correction_id, own_identity
from sidecar.node.load import assign
from sidecar.settings import Loaded, Settings
from sidecar.terms import IndexName, JsonObject
from sidecar.vote import read_hit

NODE_TIMEOUT_S = 90.0  # `refresh=wait_for` waits for the index's own refresh


@click.command()
@click.argument("id_or_text", metavar="ID|TEXT")
@click.option("--label", required=True, help="The right label.")
@settings_options("--upstream", "--index", "--label-field", "--text-field", "--human-weight")
def correct(loaded: Loaded, id_or_text: str, label: str) -> None:
    """Say what ID|TEXT in --index NAME really is, and show that it votes.

    If a document has that id, it gets the label and keeps everything else. If none has, ID|TEXT is the text of a new
    document; the same text again replaces it. Either way this is an ordinary PUT with `human: true`.
    """
    index = loaded.settings.decisions.index
    if not index:
        raise click.UsageError("name the history with --index NAME")
    for value, name in ((id_or_text, "id or text"), (label, "label")):
        if not value.strip():
            raise IllegalArgument(f"the {name} is blank")
    told, decision = asyncio.run(_correct(loaded.settings, check_index_name(index), id_or_text, label))
    click.echo(told)
    print_decision(Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS), decision)


async def _correct(settings: Settings, index: IndexName, id_or_text: str, label: str) -> tuple[str, Decision]:
    """Store the correction and decide on its text: what was done, and the decision that shows it."""
    own, history = own_identity(settings.upstream), settings.of_index(index)
    client = connect(settings.upstream, connections=2, timeout_s=NODE_TIMEOUT_S)
    try:
        corrections = Corrections(client, index, own)
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        found = await corrections.find(id_or_text)
        if found is None:
            id_, text = correction_id(id_or_text), id_or_text
            source: JsonObject = {}
            assign(source, history.text_field, text)
            result = await corrections.put(id_, corrected(source, history.label_field, label, now))
        else:
            id_, text = found.id, read_hit(found.hit, history.scope()).text or ""
            if not text.strip():
                raise CorrectionError(f"document {id_} has no text in [{history.text_field}] that could be decided on")
            document = corrected(found.source, history.label_field, label, now)
            result = await corrections.put(id_, document, index=found.index, version=found.version)
        decider = AuditDecider(settings, HistoryReader(client), LabelReader(client), local=None, own=own)
        decision = await decider.decide(DecideRequest(index=index, question=text), own)
    finally:
        await client.close()
    if all(neighbour.id != id_ for neighbour in decision.neighbours):
        raise CorrectionError(
            f"document {id_} is stored in [{index}] but does not vote on its own text: {decision.reason or 'others do'}"
        )
    return f"{result} {id_} in [{index}]", decision
