"""`sidecar decide`: one decision in the terminal, with the cases that decided it."""

from __future__ import annotations

import asyncio
import sys

import click
import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sidecar.api import DecideRequest, Decision, check_index_name, render_decide
from sidecar.cli.options import settings_options
from sidecar.decide import AuditDecider
from sidecar.errors import IllegalArgument
from sidecar.node import HistoryReader, LabelReader, connect, own_identity
from sidecar.settings import Loaded, Settings

SHOWN_TEXT_CHARS = 100
PIPED_COLUMNS = 200  # where no terminal says how wide it is


@click.command()
@click.argument("text")
@click.option("--json", "as_json", is_flag=True, help="Print the answer of POST /_decide instead of a table.")
@settings_options("--upstream", "--index", "--k", "--label-field", "--text-field", "--positive-label", "--human-weight")
def decide(loaded: Loaded, text: str, as_json: bool) -> None:
    """Decide TEXT by the history in --index NAME and show the evidence."""
    index = loaded.settings.decisions.index
    if not index:
        raise click.UsageError("name the history with --index NAME")
    if not text.strip():
        raise IllegalArgument("the text is blank")
    decision = asyncio.run(_decide(loaded.settings, DecideRequest(index=check_index_name(index), question=text)))
    if as_json:
        sys.stdout.write(orjson.dumps(render_decide(decision), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        print_decision(Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS), decision)


async def _decide(settings: Settings, request: DecideRequest) -> Decision:
    client = connect(settings.upstream, connections=2, timeout_s=30)
    try:
        own = own_identity(settings.upstream)
        decider = AuditDecider(settings, HistoryReader(client), LabelReader(client), local=None, own=own)
        return await decider.decide(request, own)
    finally:
        await client.close()


def print_decision(console: Console, decision: Decision) -> None:
    """Print label, confidence, tier and the neighbours as a table."""
    if decision.label is None:
        console.print(Text(f"no decision: {decision.reason}", style="yellow"))
        return
    verdict = Text.assemble((decision.label, "bold green"), f"  confidence {decision.confidence:.3f}")
    verdict.append(f"  tier {decision.tier}" + ("  corrected" if decision.marks.corrected_by else ""))
    console.print(verdict)
    if decision.abstain:
        console.print(Text(f"abstains: {decision.reason}", style="yellow"))
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, expand=True)
    table.add_column("weight", justify="right", no_wrap=True)
    table.add_column("label", no_wrap=True)
    table.add_column("by", no_wrap=True)
    table.add_column("id", no_wrap=True)
    # The text takes what is left and is cut there; a label never is.
    table.add_column("text", overflow="ellipsis", no_wrap=True, ratio=1)
    for neighbour in decision.neighbours:
        table.add_row(
            f"{neighbour.weight:.3f}",
            Text(neighbour.label),
            "human" if neighbour.human else (neighbour.source or "history"),
            Text(neighbour.id[:16]),
            Text((neighbour.text or "")[:SHOWN_TEXT_CHARS].replace("\n", " ")),
        )
    console.print(table)
