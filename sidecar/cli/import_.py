"""`sidecar import`: a file of decided cases becomes a history."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import click
from rich.console import Console

from sidecar.api import check_index_name
from sidecar.cli.cases import FORMATS, CaseFile
from sidecar.cli.options import settings_options
from sidecar.cli.progress import byte_progress
from sidecar.errors import SidecarError
from sidecar.node import Stored, connect, own_identity, prepare_index, refresh, store_cases
from sidecar.settings import Loaded, Settings

SHOWN_REJECTIONS = 20


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--text", default="text", show_default=True, help="Column of the text.")
@click.option("--label", default="label", show_default=True, help="Column of the label.")
@click.option(
    "--id", "id_column", default=None, help="Column of the document id; without it ids come from the content."
)
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), default=None, help="Format, where the name does not tell."
)
@settings_options("--upstream", "--index", "--text-field", "--label-field")
def import_(loaded: Loaded, file: Path, text: str, label: str, id_column: str | None, kind: str | None) -> None:
    """Load FILE (CSV, TSV or JSON lines, also .gz) of decided cases into --index NAME.

    A missing index is created. Running the same file again writes nothing twice and never overwrites a document, so
    an interrupted import is continued by the same command.
    """
    if not loaded.settings.decisions.index:
        raise click.UsageError("name the index with --index NAME")
    check_index_name(loaded.settings.decisions.index)
    cases = CaseFile(file, kind=kind, text=text, label=label, id_column=id_column)
    try:
        outcomes = asyncio.run(_load(loaded.settings, cases))
    finally:
        cases.close()
    if outcomes["rejected"]:
        raise SystemExit(1)


async def _load(settings: Settings, cases: CaseFile) -> Counter[str]:
    """Load every case and say what became of them; returns the number of each outcome."""
    scope, own = settings.decisions.scope(), own_identity(settings.upstream)
    client = connect(settings.upstream, connections=4, timeout_s=60)
    console = Console(stderr=True)
    outcomes: Counter[str] = Counter()
    rejected: list[Stored] = []
    state = None
    try:
        state = await prepare_index(client, scope, own)
        console.print(f"index [{scope.index}] {_INDEX_STATES[state]}", highlight=False, markup=False)
        with byte_progress(console) as progress:
            task = progress.add_task("loading", total=cases.size_bytes)
            async for stored in store_cases(client, scope, own, cases):
                outcomes[stored.outcome] += 1
                if stored.outcome == "rejected":
                    rejected.append(stored)
                progress.update(task, completed=cases.position_bytes)
        total = await refresh(client, scope, own)
    except (SidecarError, asyncio.CancelledError):
        if state is not None:
            kept = outcomes["created"] + outcomes["present"]
            console.print(
                f"stopped: {kept} cases are in [{scope.index}]; run the same command again to continue",
                highlight=False,
                markup=False,
            )
        raise
    finally:
        await client.close()
    rejected += cases.rejected
    outcomes["rejected"] = len(rejected)
    _report(console, outcomes, rejected, scope.index, total)
    return outcomes


_INDEX_STATES = {
    "created": "created with a mapping for votes",
    "extended": "extended by the fields that a vote needs",
    "present": "can vote as it is",
}


def _report(console: Console, outcomes: Counter[str], rejected: list[Stored], index: str, total: int) -> None:
    for one in sorted(rejected, key=lambda stored: stored.line)[:SHOWN_REJECTIONS]:
        console.print(f"line {one.line}: {one.reason}", highlight=False, markup=False)
    if len(rejected) > SHOWN_REJECTIONS:
        console.print(f"… and {len(rejected) - SHOWN_REJECTIONS} more", highlight=False, markup=False)
    console.print(
        f"{outcomes['created']} cases loaded, {outcomes['present']} already there, {outcomes['rejected']} rejected; "
        f"[{index}] holds {total} documents",
        highlight=False,
        markup=False,
    )
