"""`sidecar key new`: a key for System One clients; only its hash goes into the settings."""

from __future__ import annotations

import secrets

import click

from sidecar.web import hash_key

PREFIX = "sk-sidecar-"  # long and distinctive: some clients redact their key wherever it occurs as a substring


@click.group()
def key() -> None:
    """Keys that System One clients send as `Authorization: Bearer KEY`."""


@key.command()
@click.argument("name")
def new(name: str) -> None:
    """Make a key called NAME. The key is shown once; the settings keep its hash."""
    if not name.replace("-", "").replace("_", "").isalnum():
        raise click.BadParameter(f"{name!r}: letters, digits, - and _ only", param_hint="NAME")
    made = PREFIX + secrets.token_urlsafe(32)
    click.echo(
        f"key for the client, shown only now:\n  {made}\nfor the settings file:\n  [auth.keys]\n  {name} = ", nl=False
    )
    click.echo(f'"{hash_key(made)}"')
