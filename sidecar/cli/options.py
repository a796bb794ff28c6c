"""Command-line flags of settings: each flag is one dotted key, so that file, environment and flags speak alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from sidecar.settings import Loaded, load_settings

Command = TypeVar("Command", bound=Callable[..., Any])

FLAGS: dict[str, tuple[str, Any, str]] = {
    "--upstream": ("upstream.url", str, "Address of the node."),
    "--index": ("decisions.index", str, "Index that holds the history."),
    "--label-field": ("decisions.label_field", str, "Field that holds the label."),
    "--text-field": ("decisions.text_field", str, "Field that holds the text."),
    "--positive-label": ("decisions.positive_label", str, "Label whose probability a noul answers."),
    "--k": ("decisions.k", int, "Neighbours that vote."),
    "--min-confidence": ("decisions.min_confidence", float, "Below this `/_decide` abstains."),
    "--human-weight": ("decisions.human_weight", float, "Weight of a correction."),
    "--host": ("listen.host", str, "Address to listen on."),
    "--port": ("listen.port", int, "ES port; 0 = any free one."),
    "--native-port": ("listen.native_port", int, "Native port; ES port + 1 when not given."),
    "--decide-mode": ("local.mode", str, "`history` or `local`."),
    "--decide-model-dir": ("local.model_dir", str, "Directory of the local model."),
}


def settings_options(*names: str) -> Callable[[Command], Command]:
    """Decorate a command with `--config` and the named flags; it receives them as `loaded`."""

    def decorate(command: Command) -> Command:
        def run(config: Path | None, **given: Any) -> Any:
            flags = {}
            for name in names:
                value = given.pop(_parameter(name))
                if value is not None:
                    flags[FLAGS[name][0]] = value
            return command(loaded=load_settings(config, flags=flags), **given)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # click's own way
        decorated: Any = run
        for name in reversed(names):
            _, kind, text = FLAGS[name]
            decorated = click.option(name, _parameter(name), type=kind, default=None, help=text)(decorated)
        return click.option(  # type: ignore[no-any-return]  # click types decorators by their argument
            "--config",
            type=click.Path(path_type=Path),
            envvar="SIDECAR_CONFIG",
            help="Settings file (TOML).",
        )(decorated)

    return decorate


def _parameter(name: str) -> str:
    return name.removeprefix("--").replace("-", "_")


__all__ = ["FLAGS", "Loaded", "settings_options"]
