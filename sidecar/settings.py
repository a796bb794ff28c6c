"""Typed settings: a TOML file, then the environment, then flags; later ones win.

Unknown keys and impossible values refuse the start; the message names the key, the value and what is allowed.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import SplitResult, urlsplit

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError as UnreadableVariable

from sidecar.errors import SettingsError
from sidecar.terms import IndexName, JsonObject, JsonValue, Scope

NonEmpty = Annotated[str, Field(min_length=1)]
Origin = Literal["default", "file", "env", "flag", "decisions"]


class Section(BaseModel):
    """One table of the settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class QuestionScope(Section):
    """The explicit scope of one question id: the only way in which an id has influence."""

    label_field: NonEmpty | None = Field(None, description="label field of this question")
    positive_label: NonEmpty | None = Field(None, description="label whose probability a noul answers")
    filter: dict[str, Any] | None = Field(None, description="native query clause that narrows the vote")


class History(Section):
    """One history: an index (or alias) of labelled documents, and how it votes."""

    index: str = Field("", description="index or alias that holds the history; empty = none")
    k: int = Field(10, ge=1, le=100, description="neighbours that vote")
    label_field: NonEmpty = Field("label", description="field that holds the label; dotted paths allowed")
    text_field: NonEmpty = Field("text", description="field that holds the text; dotted paths allowed")
    positive_label: NonEmpty = Field("true", description="label whose probability a noul answers")
    min_confidence: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="below this `/_decide` abstains; above 1 always"
    )
    escalate_below: float = Field(
        0.8, ge=0, le=1, allow_inf_nan=False, description="below this a vote is split; 0 = never"
    )
    escalation_guard: bool = Field(True, description="escalate only where the local model has earned it")
    human_weight: float = Field(
        2.0, gt=0, allow_inf_nan=False, description="weight of a correction against an ordinary document"
    )
    write_back: bool = Field(True, description="store local answers in this history")
    questions: dict[str, QuestionScope] = Field(default_factory=dict, description="explicit scopes by question id")

    def scope(self, question_id: str | None = None) -> Scope:
        """Where a question votes: the history's own fields, narrowed by an explicit scope of that id."""
        override = self.questions.get(question_id) if question_id is not None else None
        clause = override.filter if override is not None else None
        return Scope(
            index=IndexName(self.index),
            text_field=self.text_field,
            label_field=(override and override.label_field) or self.label_field,
            filter=None if clause is None else orjson.dumps(clause, option=orjson.OPT_SORT_KEYS).decode(),
        )

    def positive(self, question_id: str | None = None) -> str:
        """The positive label of a question: an explicit scope's, else the history's."""
        override = self.questions.get(question_id) if question_id is not None else None
        return (override and override.positive_label) or self.positive_label


class Listen(Section):
    """Where the sidecar listens."""

    host: NonEmpty = Field("127.0.0.1", description="address of both ports")
    port: int = Field(9201, ge=0, le=65535, description="ES port; 0 = any free one")
    native_port: int | None = Field(None, ge=0, le=65535, description="native port; ES port + 1 when not set")

    @field_validator("native_port")
    @classmethod
    def _has_a_port_above(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is None and info.data.get("port") == 65535:
            raise ValueError("must be set where listen.port = 65535, which leaves no port above it")
        return value


class Upstream(Section):
    """The node behind the sidecar."""

    url: str = Field("http://127.0.0.1:9200", description="address of the node")
    username: str = Field("", description="user of the sidecar's own searches and writes")
    password: str = Field("", description="its password", json_schema_extra={"secret": True})
    api_key: str = Field("", description="API key instead of a user", json_schema_extra={"secret": True})
    connect_timeout_s: float = Field(5.0, gt=0, allow_inf_nan=False, description="time to connect, seconds")

    @field_validator("url")
    @classmethod
    def _is_http_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if "@" in parts.netloc:
            raise ValueError("must not hold credentials; set upstream.username and upstream.password, or api_key")
        is_address = parts.scheme in ("http", "https") and parts.hostname and _port_of(parts)
        if not is_address or parts.query or parts.fragment:
            raise ValueError("must look like http://host:port or https://host:port")
        return value.rstrip("/")


def _port_of(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        return None


class Limits(Section):
    """Sizes above which a request is refused or cut; every refusal names its setting."""

    body_bytes: int = Field(32 * 1024 * 1024, ge=1024, description="decoded request body, bytes")
    json_depth: int = Field(64, ge=4, le=200, description="nesting of a request body")
    questions: int = Field(300, ge=1, description="questions in one request")
    options: int = Field(255, ge=1, description="options of a choice")
    levels: int = Field(10, ge=1, description="levels of a score")
    text_chars: int = Field(100_000, ge=1, description="characters of a vote text; longer ones are cut")
    concurrent_requests: int = Field(64, ge=1, description="decisions in flight; more are answered 429")
    deadline_s: float = Field(8.0, gt=0, allow_inf_nan=False, description="time for one decision, seconds")


class Local(Section):
    """The local head. A wrong mode or directory never stops the proxy."""

    mode: str = Field("history", description="`history` (off) or `local`")
    model_dir: str = Field("", description="directory with config.json, tokenizer.json, model.safetensors")
    threads: int = Field(0, ge=0, le=256, description="threads of the local model; 0 = its library's default")
    preload: bool = Field(False, description="load the model at start instead of on first use")

    def arming(self) -> tuple[bool, str | None]:
        """Whether the head is armed, and a warning where the settings do not say so clearly."""
        if self.mode not in ("history", "local"):
            return False, f"local.mode = {self.mode!r} is unknown and taken as off; valid: history, local"
        if self.mode == "local" and not self.model_dir:
            return False, (
                "local.mode is local but no directory is named, so it is off; set SIDECAR_LOCAL__MODEL_DIR (or "
                "XERJ_DECIDE_MODEL_DIR) to a folder with config.json, tokenizer.json and model.safetensors"
            )
        return self.mode == "local", None


class Auth(Section):
    """Sidecar keys of the System One surfaces. Without keys any key is accepted."""

    keys: dict[str, Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")]] = Field(
        default_factory=dict,
        description="name = SHA-256 of the key, in hex; `sidecar key new` makes one",
        json_schema_extra={"secret": True},
    )


class Engine(Section):
    """How real nodes are fetched and started for the demo, the tests and `sidecar node`."""

    cache_dir: str = Field("", description="folder of distributions; empty = the user's cache folder")
    mirror: str = Field("https://repo.maven.apache.org/maven2", description="base address in Maven Central's layout")
    java: str = Field("", description="Java executable or home; empty = found")


class Settings(BaseSettings):
    """All settings. Use `load_settings`, which also says where each value came from."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, env_prefix="SIDECAR_", env_nested_delimiter="__")

    listen: Listen = Listen()
    upstream: Upstream = Upstream()
    decisions: History = History()
    histories: dict[str, History] = Field(default_factory=dict)
    limits: Limits = Limits()
    local: Local = Local()
    auth: Auth = Auth()
    engine: Engine = Engine()

    @model_validator(mode="after")
    def _histories_have_an_index(self) -> Settings:
        for name, history in self.histories.items():
            if not history.index:
                raise ValueError(f"histories.{name}.index is empty; name the index that holds this history")
        return self

    def select(self, name: str) -> History | None:
        """The configured history of that name, None when there is none."""
        return self.histories.get(name)

    def default(self) -> History | None:
        """The default history, None when `decisions.index` is empty."""
        return self.decisions if self.decisions.index else None

    def of_index(self, index: str) -> History:
        """Settings under which an index is searched: the first configured history with it, else `[decisions]`
        with that index."""
        for history in (self.decisions, *self.histories.values()):
            if history.index == index:
                return history
        return self.decisions.model_copy(update={"index": index})

    def is_configured(self, index: str) -> bool:
        """True where an operator named this index as a history."""
        return any(history.index == index for history in (self.decisions, *self.histories.values()) if index)


@dataclass(frozen=True)
class Loaded:
    """Settings and the origin of each value that is not a default, by dotted key."""

    settings: Settings
    origins: Mapping[str, Origin] = field(default_factory=dict)


def load_settings(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, JsonValue] | None = None,
) -> Loaded:
    """Read the settings from file, environment and flags.

    flags   dotted key → value, only those that were given
    Raises  SettingsError naming the key, the value and what is allowed
    """
    environ = os.environ if environ is None else environ
    sources: list[tuple[Origin, JsonObject]] = [
        ("file", _read_file(file)),
        ("env", _read_environment(environ)),
        ("flag", _nest(flags or {})),
    ]
    merged: JsonObject = {}
    origins: dict[str, Origin] = {}
    for origin, values in sources:
        _merge(merged, values)
        origins.update(dict.fromkeys(_leaves(values), origin))
    _inherit(merged, origins)
    _refuse_unknown(merged)
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as error:
        raise SettingsError(_explain(error)) from error
    return Loaded(settings, origins)


def _read_file(file: Path | None) -> JsonObject:
    if file is None:
        return {}
    try:
        return cast(JsonObject, tomllib.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise SettingsError(f"settings file {file} does not exist; check --config") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {file} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"settings file {file} is not valid TOML: {error}") from error


_ALIASES = {"XERJ_DECIDE_MODE": "SIDECAR_LOCAL__MODE", "XERJ_DECIDE_MODEL_DIR": "SIDECAR_LOCAL__MODEL_DIR"}
_NOT_SETTINGS = {"SIDECAR_CONFIG"}


def _read_environment(environ: Mapping[str, str]) -> JsonObject:
    renamed = {_ALIASES[name]: value for name, value in environ.items() if name in _ALIASES}
    renamed |= {name.upper(): value for name, value in environ.items() if name.upper().startswith("SIDECAR_")}
    _refuse_unknown(
        _nest(
            {
                name.removeprefix("SIDECAR_").lower().replace("__", "."): value
                for name, value in renamed.items()
                if name not in _NOT_SETTINGS
            }
        ),
        spell=lambda key: "SIDECAR_" + key.upper().replace(".", "__"),
    )
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): value for name, value in renamed.items()}
    try:
        return cast(JsonObject, source())
    except UnreadableVariable as error:
        sections = "".join(f"SIDECAR_{name.upper()} " for name in Settings.model_fields if f'"{name}"' in str(error))
        raise SettingsError(f"environment variable {sections}is not valid JSON") from error


def _nest(flat: Mapping[str, JsonValue]) -> JsonObject:
    nested: JsonObject = {}
    for key, value in flat.items():
        *parents, last = key.split(".")
        table = nested
        for parent in parents:
            table = cast(JsonObject, table.setdefault(parent, {}))
            if not isinstance(table, dict):
                raise SettingsError(f"{key} is set both as a table and as a value")
        table[last] = value
    return nested


def _merge(into: JsonObject, values: JsonObject) -> None:
    for key, value in values.items():
        present = into.get(key)
        if isinstance(present, dict) and isinstance(value, dict):
            _merge(present, value)
        else:
            into[key] = value


def _leaves(values: JsonObject, prefix: str = "") -> Iterable[str]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key


def _inherit(merged: JsonObject, origins: dict[str, Origin]) -> None:
    decisions, histories = merged.get("decisions"), merged.get("histories")
    if not isinstance(decisions, dict) or not isinstance(histories, dict):
        return
    for name, own in histories.items():
        if isinstance(own, dict):
            inherited = {key: value for key, value in decisions.items() if key != "index"}
            for leaf in _leaves({key: value for key, value in inherited.items() if key not in own}):
                origins[f"histories.{name}.{leaf}"] = "decisions"
            histories[name] = inherited | own


def _refuse_unknown(values: JsonObject, spell: Callable[[str], str] = str) -> None:
    known = tuple(known_keys())
    for leaf in _leaves(values):
        if not _is_known(leaf, known):
            spelled = [_with_names_of(leaf, key) for key in known]
            close = difflib.get_close_matches(leaf, spelled, n=1, cutoff=0.5)
            hint = (
                f"; did you mean {spell(close[0])}?"
                if close
                else f"; known sections: {', '.join(Settings.model_fields)}"
            )
            raise SettingsError(f"unknown setting {spell(leaf)}{hint}")


def _with_names_of(leaf: str, key: str) -> str:
    """The known key with the user's own names at the places of `<name>` and `<id>`."""
    parts = leaf.split(".")
    pattern = key.split(".")
    return ".".join(
        parts[at] if part in ("<name>", "<id>") and at < len(parts) else part for at, part in enumerate(pattern)
    )


def _is_known(leaf: str, known: Iterable[str]) -> bool:
    if leaf in Settings.model_fields:
        return True
    parts = leaf.split(".")
    for key in known:
        pattern = key.split(".")
        is_free_form = pattern[-1] in ("filter", "keys") and len(parts) > len(pattern)
        parts_here = parts[: len(pattern)] if is_free_form else parts
        if len(parts_here) == len(pattern) and all(
            wanted in ("<name>", "<id>") or wanted == part for wanted, part in zip(pattern, parts_here, strict=True)
        ):
            return True
    return False


def known_keys() -> Iterable[str]:
    """Every dotted key; `<name>` and `<id>` stand for the user's own names."""
    for section, info in Settings.model_fields.items():
        if section == "histories":
            yield from _history_keys("histories.<name>.")
        elif section == "decisions":
            yield from _history_keys("decisions.")
        else:
            assert isinstance(info.annotation, type)
            assert issubclass(info.annotation, Section)
            yield from (f"{section}.{key}" for key in info.annotation.model_fields)


def is_secret(key: str) -> bool:
    """Whether the value of a dotted key must not be shown."""
    section, _, name = key.partition(".")
    info = Settings.model_fields.get(section)
    if info is None or not isinstance(info.annotation, type) or not issubclass(info.annotation, Section):
        return False
    member = info.annotation.model_fields.get(name.partition(".")[0])
    extra = None if member is None else member.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("secret"))


def _history_keys(prefix: str) -> Iterable[str]:
    for key in History.model_fields:
        if key == "questions":
            yield from (f"{prefix}questions.<id>.{part}" for part in QuestionScope.model_fields)
        else:
            yield prefix + key


def _explain(error: ValidationError) -> str:
    lines = []
    for detail in error.errors(include_url=False):
        key = ".".join(str(part) for part in detail["loc"])
        what = detail["msg"].removeprefix("Value error, ")
        hidden = is_secret(key) or "@" in str(detail["input"])
        value = "(not shown)" if hidden else repr(detail["input"])
        lines.append(f"{key} = {value}: {what}" if key else what)
    return "; ".join(lines)
