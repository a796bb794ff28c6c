"""`sidecar config`: the settings in effect, where each came from, secrets masked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import click
from pydantic import BaseModel

from sidecar.cli.options import FLAGS, settings_options
from sidecar.settings import Loaded, is_secret

MASK = "********"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print key, value and origin as JSON.")
@settings_options(*FLAGS)
def config(loaded: Loaded, as_json: bool) -> None:
    """Show the settings in effect and where each comes from: file, env, flag or default."""
    rows = [(key, _shown(key, value), _origin(key, loaded)) for key, value in _flatten(loaded.settings)]
    if as_json:
        click.echo(json.dumps([{"key": key, "value": value, "origin": origin} for key, value, origin in rows]))
        return
    widths = [max(len(row[column]) for row in rows) for column in (0, 2)]
    for key, value, origin in rows:
        click.echo(f"{key:<{widths[0]}}  {origin:<{widths[1]}}  {json.dumps(value, ensure_ascii=False)}")


def _flatten(value: BaseModel | Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Every leaf with its dotted key; an empty table is a leaf."""
    members = (
        {name: getattr(value, name) for name in type(value).model_fields} if isinstance(value, BaseModel) else value
    )
    for name, member in members.items():
        if isinstance(member, BaseModel | Mapping) and (isinstance(member, BaseModel) or member):
            yield from _flatten(member, f"{prefix}{name}.")
        else:
            yield prefix + name, member


def _shown(key: str, value: Any) -> Any:
    return MASK if value and is_secret(key) else value


def _origin(key: str, loaded: Loaded) -> str:
    """A key's own origin, or that of the table it stands in (a filter clause is set as a whole)."""
    parts = key.split(".")
    for length in range(len(parts), 0, -1):
        origin = loaded.origins.get(".".join(parts[:length]))
        if origin is not None:
            return origin
    return "default"
