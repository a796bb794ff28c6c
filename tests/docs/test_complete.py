"""Nothing that a user can meet is missing from the documentation, and nothing in it leads nowhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from doc_pages import DOCS, ROOT, pages
from settings_table import environment_name, row, tables

from sidecar.api import errors as error_table
from sidecar.cli import cli
from sidecar.engine.distribution import DISTRIBUTIONS
from sidecar.http1.route import ALLOWED_METHODS, Endpoint
from sidecar.metrics import Metrics
from sidecar.settings import known_keys
from sidecar.terms import HISTORY_MODEL

PATHS = {
    Endpoint.SYSTEMONE: "/v1/systemone",
    Endpoint.MODELS: "/v1/models",
    Endpoint.DECIDE: "/_decide",
    Endpoint.STATUS: "/_decide/_status",
    Endpoint.METRICS: "/metrics",
    Endpoint.LIVE: "/health/live",
    Endpoint.READY: "/health/ready",
}
"""Every endpoint by its path; a new one without a line here fails a test below."""

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def everything() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in pages())


def commands(command: click.Command, name: str = "sidecar") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its full name."""
    if isinstance(command, click.Group):
        for child, one in command.commands.items():
            yield from commands(one, f"{name} {child}")
    else:
        yield name, command


COMMANDS = dict(commands(cli))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_and_its_flags_are_documented(name: str) -> None:
    text = everything()
    flags = {
        flag
        for parameter in COMMANDS[name].params
        if isinstance(parameter, click.Option)
        for flag in parameter.opts
        if flag.startswith("--")
    }
    missing = [word for word in (name, *sorted(flags)) if not re.search(rf"{re.escape(word)}\b", text)]
    assert not missing, f"write about {missing} in README.md or docs/"


def test_the_settings_tables_are_those_of_the_settings() -> None:
    written = read("configuration.md").splitlines()
    missing = [line for _, rows in tables() for line in rows if line not in written]
    assert not missing, (
        "put these rows in docs/configuration.md (tests/docs/settings_table.py prints all):\n" + "\n".join(missing)
    )
    known = set(known_keys())
    stale = [line for line in written if line.startswith("| `") and line.split("`")[1] not in known]
    assert not stale, f"these are no settings: {stale}"


@pytest.mark.parametrize("key", sorted(known_keys()))
def test_a_setting_is_documented(key: str) -> None:
    """Keys of `[histories.<name>]` by those of `[decisions]`, from which they inherit."""
    text = read("configuration.md")
    section, _, rest = key.partition(".")
    if section == "histories":
        assert environment_name("histories.<name>.index") in text
        key = f"decisions.{rest.partition('.')[2]}"
    assert row(key) in text


@pytest.mark.parametrize("endpoint", [each for each in Endpoint if each is not Endpoint.UNKNOWN])
def test_an_endpoint_is_documented(endpoint: Endpoint) -> None:
    assert PATHS.keys() | {Endpoint.UNKNOWN} == ALLOWED_METHODS.keys()
    assert f"`{PATHS[endpoint]}`" in read("proxy.md")


def error_types() -> set[str]:
    ours = {kind for _, kind in error_table._TABLE.values()}
    return ours | {"json_invalid", "upstream_unreachable"}


@pytest.mark.parametrize("kind", sorted(error_types()))
def test_an_error_type_is_documented(kind: str) -> None:
    text = read("errors.md")
    heading = re.search(rf"^##+ {kind}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert heading, f"docs/errors.md has no heading for {kind}"
    assert "**Do:**" in heading[1], f"docs/errors.md does not say what to do about {kind}"


def test_the_status_of_an_error_is_the_documented_one() -> None:
    text = read("errors.md")
    for status, kind in error_table._TABLE.values():
        section = re.search(rf"^## {kind}\n\n(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
        assert section
        assert str(status) in re.findall(r"\d{3}", section[1]), f"docs/errors.md: {kind} is {status}"


def test_no_heading_of_the_errors_page_is_made_up() -> None:
    assert set(re.findall(r"^##+ (\S+)$", read("errors.md"), re.MULTILINE)) == error_types()


def test_every_series_is_documented() -> None:
    text = read("proxy.md")
    for family in Metrics().registry.collect():
        name = family.name + ("_total" if family.type == "counter" else "")
        assert f"`{name}`" in text


def test_every_release_of_sidecar_node_is_documented() -> None:
    text = read("nodes.md")
    for name, entry in DISTRIBUTIONS.items():
        assert re.search(rf"^\| `{name}`.* \| {re.escape(entry.title)} \| {entry.download_bytes >> 20} MiB", text, re.M)


def anchors(page: Path) -> set[str]:
    """The names that headings get, as GitHub makes them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}, and there is no such file"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}, and there is no such heading"


def test_the_readme_names_every_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [page.name for page in DOCS.iterdir() if page.suffix == ".md" and f"(docs/{page.name}" not in text]
    assert not missing, f"README.md names no {missing}"


def measured() -> dict[str, float]:
    """The latest value of each measurement."""
    lines = (ROOT / "benchmarks" / "results" / "accuracy.jsonl").read_text(encoding="utf-8").splitlines()
    return {entry["name"]: entry["value"] for entry in map(json.loads, lines) if "name" in entry}


def test_the_accuracy_in_the_readme_was_measured() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    values = measured()
    for engine in ("opensearch3", "elasticsearch9"):
        first, whole, ece = (values[f"{name}.banking77.{engine}"] for name in ("accuracy", "accuracy_whole", "ece"))
        assert re.search(rf"Banking77.*first 1,000.*\| {first} \| {ece} \|", text)
        assert re.search(rf"Banking77.*all 3,080.*\| {whole} \|", text)
        spam, spam_ece = values[f"accuracy.sms_spam.{engine}"], values[f"ece.sms_spam.{engine}"]
        assert re.search(rf"SMS spam.*\| {spam} \| {spam_ece} \|", text)


def test_the_model_in_the_examples_is_the_one_that_answers() -> None:
    assert f'"model": "{HISTORY_MODEL}"' in read("systemone.md")
