"""The rows of docs/configuration.md as the settings say them: `python tests/docs/settings_table.py` prints them all."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from sidecar.cli.options import FLAGS
from sidecar.settings import History, QuestionScope, Settings, known_keys

FLAG_OF = {key: flag for flag, (key, _, _) in FLAGS.items()}


def field_of(key: str) -> FieldInfo:
    """The declaration of a dotted key."""
    section, *_, name = key.split(".")
    if ".questions." in key:
        return QuestionScope.model_fields[name]
    if section == "histories":
        return History.model_fields[name]
    table = Settings.model_fields[section].annotation
    assert table is not None
    return table.model_fields[name]


def environment_name(key: str) -> str:
    """How the environment spells a dotted key."""
    return "SIDECAR_" + key.upper().replace(".", "__")


def default_of(info: FieldInfo) -> str:
    """The default as TOML would write it; a dash where there is none to write."""
    value = info.get_default(call_default_factory=True)
    return "–" if value is None or value is PydanticUndefined or value == {} else f"`{json.dumps(value)}`"


def row(key: str) -> str:
    """One line of the table."""
    info = field_of(key)
    flag = f"`{FLAG_OF[key]}`" if key in FLAG_OF else ""
    return f"| `{key}` | {default_of(info)} | `{environment_name(key)}` | {flag} | {info.description} |"


def tables() -> Iterator[tuple[str, list[str]]]:
    """Every section with its rows. A history inherits from `[decisions]`: its rows would say the same twice."""
    rows: dict[str, list[str]] = {}
    for key in known_keys():
        section = key.partition(".")[0]
        if section != "histories":
            rows.setdefault(section, []).append(row(key))
    yield from rows.items()


if __name__ == "__main__":
    for name, lines in tables():
        print(f"## {name}\n\n| key | default | environment | flag | meaning |\n| --- | --- | --- | --- | --- |")
        print("\n".join(lines), end="\n\n")
