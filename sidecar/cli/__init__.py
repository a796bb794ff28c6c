"""The command line: one module per command."""

from __future__ import annotations

import sys

import click

from sidecar import __version__
from sidecar.cli.config import config
from sidecar.cli.correct import correct
from sidecar.cli.decide import decide
from sidecar.cli.demo import demo
from sidecar.cli.head import head
from sidecar.cli.import_ import import_
from sidecar.cli.key import key
from sidecar.cli.node import node
from sidecar.cli.serve import serve
from sidecar.errors import IllegalArgument, SettingsError, SidecarError

USAGE, FAILURE = 2, 1


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sidecar")
def cli() -> None:
    """Answer typed questions by a vote of the decided cases in your Elasticsearch or OpenSearch."""


for command in (serve, import_, decide, correct, demo, node, config, key, head):
    cli.add_command(command)


def main() -> None:
    """Run the command line. Exit code 0 = done, 1 = failed, 2 = wrong usage or settings."""
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except (SettingsError, IllegalArgument) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(USAGE)
    except SidecarError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(FAILURE)
