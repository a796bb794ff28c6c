"""Where settings come from, which win, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.errors import SettingsError
from sidecar.settings import Loaded, known_keys, load_settings
from sidecar.terms import JsonValue


def load(
    tmp_path: Path, file: str = "", env: dict[str, str] | None = None, flags: dict[str, JsonValue] | None = None
) -> Loaded:
    path = tmp_path / "sidecar.toml"
    path.write_text(file, encoding="utf-8")
    return load_settings(path, env or {}, flags or {})


def value_of(loaded: Loaded, key: str) -> object:
    found: object = loaded.settings
    for part in key.split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    return found


PRECEDENCE = [
    pytest.param("", {}, {}, 10, None, id="default"),
    pytest.param("[decisions]\nk = 3", {}, {}, 3, "file", id="file"),
    pytest.param("", {"SIDECAR_DECISIONS__K": "4"}, {}, 4, "env", id="env"),
    pytest.param("", {}, {"decisions.k": 5}, 5, "flag", id="flag"),
    pytest.param("[decisions]\nk = 3", {"SIDECAR_DECISIONS__K": "4"}, {}, 4, "env", id="env-over-file"),
    pytest.param("", {"SIDECAR_DECISIONS__K": "4"}, {"decisions.k": 5}, 5, "flag", id="flag-over-env"),
    pytest.param(
        "[decisions]\nk = 3", {"SIDECAR_DECISIONS__K": "4"}, {"decisions.k": 5}, 5, "flag", id="flag-over-both"
    ),
    pytest.param("", {"sidecar_decisions__k": "4"}, {}, 4, "env", id="env-in-lower-case"),
    pytest.param("", {"SIDECAR_DECISIONS": '{"k": 6}'}, {}, 6, "env", id="env-whole-section"),
]


@pytest.mark.parametrize(("file", "env", "flags", "k", "origin"), PRECEDENCE)
def test_later_sources_win(
    file: str,
    env: dict[str, str],
    flags: dict[str, JsonValue],
    k: int,
    origin: str | None,
    tmp_path: Path,
) -> None:
    loaded = load(tmp_path, file, env, flags)
    assert loaded.settings.decisions.k == k
    assert loaded.origins.get("decisions.k") == origin


READ = [
    ({"SIDECAR_UPSTREAM__URL": "http://node:9200/"}, "upstream.url", "http://node:9200"),
    ({"SIDECAR_UPSTREAM__URL": "https://node:9243/es"}, "upstream.url", "https://node:9243/es"),
    ({"SIDECAR_UPSTREAM__PASSWORD": "12345"}, "upstream.password", "12345"),
    ({"SIDECAR_UPSTREAM__API_KEY": "a__b"}, "upstream.api_key", "a__b"),
    ({"SIDECAR_LISTEN__NATIVE_PORT": "0"}, "listen.native_port", 0),
    ({"SIDECAR_DECISIONS__WRITE_BACK": "false"}, "decisions.write_back", False),
    ({"SIDECAR_DECISIONS__MIN_CONFIDENCE": "1.5"}, "decisions.min_confidence", 1.5),
    ({"SIDECAR_HISTORIES__MAIL__INDEX": "mail-2"}, "histories.mail.index", "mail-2"),
    ({"SIDECAR_DECISIONS__QUESTIONS__SPAM__LABEL_FIELD": "s"}, "decisions.questions.spam.label_field", "s"),
    (
        {"SIDECAR_DECISIONS__QUESTIONS__SPAM__FILTER": '{"term": {"a": 1}}'},
        "decisions.questions.spam.filter",
        {"term": {"a": 1}},
    ),
    ({"XERJ_DECIDE_MODE": "local"}, "local.mode", "local"),
    ({"XERJ_DECIDE_MODEL_DIR": "/models/m"}, "local.model_dir", "/models/m"),
    ({"XERJ_DECIDE_MODE": "local", "SIDECAR_LOCAL__MODE": "history"}, "local.mode", "history"),
    ({"SIDECAR_CONFIG": "/etc/sidecar.toml", "HOME": "/root"}, "decisions.k", 10),
]


@pytest.mark.parametrize(("env", "key", "value"), READ, ids=[f"{key}-{value}" for _, key, value in READ])
def test_the_environment_is_read(env: dict[str, str], key: str, value: object, tmp_path: Path) -> None:
    assert value_of(load(tmp_path, env=env), key) == value


HISTORIES = """
[decisions]
index = "cases"
k = 7
human_weight = 3.0
[decisions.questions.spam]
label_field = "is_spam"
[histories.mail]
index = "mail"
k = 5
[histories.chat]
index = "chat"
text_field = "body"
"""


def test_histories_inherit_from_decisions(tmp_path: Path) -> None:
    loaded = load(tmp_path, HISTORIES)
    mail, chat = loaded.settings.histories["mail"], loaded.settings.histories["chat"]
    assert (mail.index, mail.k, mail.human_weight, mail.text_field) == ("mail", 5, 3.0, "text")
    assert (chat.index, chat.k, chat.human_weight, chat.text_field) == ("chat", 7, 3.0, "body")
    assert mail.questions["spam"].label_field == "is_spam"
    assert loaded.origins["histories.mail.k"] == "file"
    assert loaded.origins["histories.chat.k"] == "decisions"


def test_a_history_inherits_what_a_later_source_says(tmp_path: Path) -> None:
    loaded = load(tmp_path, HISTORIES, {"SIDECAR_HISTORIES__MAIL__MIN_CONFIDENCE": "0.4"}, {"decisions.k": 9})
    assert loaded.settings.histories["mail"].k == 5
    assert loaded.settings.histories["chat"].k == 9
    assert loaded.settings.histories["mail"].min_confidence == 0.4


def test_an_index_never_is_inherited(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"histories\.mail\.index is empty; name the index"):
        load(tmp_path, '[decisions]\nindex = "cases"\n[histories.mail]\nk = 3')


UNKNOWN = [
    pytest.param("[decisions]\nkk = 3", {}, {}, "unknown setting decisions.kk", "decisions.k", id="file"),
    pytest.param("[decison]\nk = 3", {}, {}, "unknown setting decison.k", "decisions.k", id="file-section"),
    pytest.param("k = 3", {}, {}, "unknown setting k", "", id="file-without-section"),
    pytest.param(
        '[histories.mail]\nindex = "m"\nlabel_feld = "x"',
        {},
        {},
        "unknown setting histories.mail.label_feld",
        "histories.mail.label_field",
        id="file-in-a-history",
    ),
    pytest.param(
        '[decisions.questions.spam]\nfield = "x"',
        {},
        {},
        "unknown setting decisions.questions.spam.field",
        "decisions.questions.spam.filter",
        id="file-in-a-question",
    ),
    pytest.param(
        "",
        {"SIDECAR_UPSTREAM__URI": "http://a:1"},
        {},
        "unknown setting SIDECAR_UPSTREAM__URI",
        "SIDECAR_UPSTREAM__URL",
        id="env",
    ),
    pytest.param(
        "",
        {"SIDECAR_LISTEN_PORT": "1"},
        {},
        "unknown setting SIDECAR_LISTEN_PORT",
        "SIDECAR_LISTEN__PORT",
        id="env-one-underscore",
    ),
    pytest.param("", {"SIDECAR_DECISIONS": '{"kk": 3}'}, {}, "unknown setting", "", id="env-whole-section"),
    pytest.param("", {}, {"listen.prot": 1}, "unknown setting listen.prot", "listen.port", id="flag"),
]


@pytest.mark.parametrize(("file", "env", "flags", "said", "nearest"), UNKNOWN)
def test_an_unknown_key_names_the_nearest(
    file: str, env: dict[str, str], flags: dict[str, JsonValue], said: str, nearest: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, file, env, flags)
    assert said in str(refused.value)
    if nearest:
        assert f"did you mean {nearest}?" in str(refused.value)


IMPOSSIBLE = [
    ("decisions.k", 0, "greater than or equal to 1"),
    ("decisions.k", 101, "less than or equal to 100"),
    ("decisions.k", "many", "valid integer"),
    ("decisions.k", 2.5, "valid integer"),
    ("decisions.human_weight", 0, "greater than 0"),
    ("decisions.human_weight", -1.5, "greater than 0"),
    ("decisions.human_weight", float("nan"), "finite number"),
    ("decisions.human_weight", float("inf"), "finite number"),
    ("decisions.min_confidence", -0.1, "greater than or equal to 0"),
    ("decisions.escalate_below", 1.1, "less than or equal to 1"),
    ("decisions.label_field", "", "at least 1 character"),
    ("decisions.text_field", "", "at least 1 character"),
    ("decisions.positive_label", "", "at least 1 character"),
    ("decisions.write_back", "perhaps", "valid boolean"),
    ("listen.port", 70_000, "less than or equal to 65535"),
    ("listen.port", -1, "greater than or equal to 0"),
    ("listen.host", "", "at least 1 character"),
    ("upstream.url", "node:9200", "http://host:port"),
    ("upstream.url", "ftp://node:9200", "http://host:port"),
    ("upstream.url", "http://", "http://host:port"),
    ("upstream.url", "http://node", "http://host:port"),
    ("upstream.url", "http://node:port", "http://host:port"),
    ("upstream.url", "http://:9200", "http://host:port"),
    ("upstream.url", "http://node:9200?x=1", "http://host:port"),
    ("upstream.connect_timeout_s", 0, "greater than 0"),
    ("limits.body_bytes", 10, "greater than or equal to 1024"),
    ("limits.json_depth", 500, "less than or equal to 200"),
    ("limits.deadline_s", -1, "greater than 0"),
    ("limits.questions", 0, "greater than or equal to 1"),
]


@pytest.mark.parametrize(
    ("key", "value", "allowed"), IMPOSSIBLE, ids=[f"{key}={value}" for key, value, _ in IMPOSSIBLE]
)
def test_an_impossible_value_names_key_value_and_what_is_allowed(
    key: str, value: JsonValue, allowed: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as refused:
        load(tmp_path, flags={key: value})
    assert key in str(refused.value)
    assert repr(value) in str(refused.value)
    assert allowed in str(refused.value)


def test_a_port_with_none_above_it_needs_a_native_port(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"listen\.native_port = None: must be set where listen\.port = 65535"):
        load(tmp_path, flags={"listen.port": 65_535})
    assert load(tmp_path, flags={"listen.port": 65_535, "listen.native_port": 1}).settings.listen.port == 65_535


def test_an_impossible_value_of_the_environment_is_told_alike(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"decisions\.human_weight = '-2': .*greater than 0"):
        load(tmp_path, env={"SIDECAR_DECISIONS__HUMAN_WEIGHT": "-2"})


BROKEN = [
    pytest.param("k = = 1", {}, r"sidecar\.toml is not valid TOML", id="toml"),
    pytest.param("decisions = 3", {}, r"decisions", id="section-that-is-a-value"),
    pytest.param("[histories]\nmail = 'x'", {}, r"histories\.mail", id="history-that-is-a-value"),
    pytest.param("", {"SIDECAR_DECISIONS": "{"}, r"SIDECAR_DECISIONS", id="env-json"),
    pytest.param(
        "",
        {"SIDECAR_DECISIONS__QUESTIONS__SPAM__FILTER": "term"},
        r"decisions\.questions\.spam\.filter|SIDECAR_DECISIONS__QUESTIONS__SPAM__FILTER",
        id="env-filter",
    ),
    pytest.param("", {"SIDECAR_DECISIONS__K__X": "1"}, "SIDECAR_DECISIONS__K__X", id="env-below-a-value"),
    pytest.param("", {"SIDECAR_": "1"}, "unknown setting", id="env-prefix-only"),
]


@pytest.mark.parametrize(("file", "env", "said"), BROKEN)
def test_a_broken_source_is_told(file: str, env: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=said):
        load(tmp_path, file, env)


FILES = [
    pytest.param(None, "does not exist; check --config", id="missing"),
    pytest.param(b"\xff\xfe", "cannot be read", id="not-utf-8"),
]


@pytest.mark.parametrize(("content", "said"), FILES)
def test_a_file_that_cannot_be_read(content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "sidecar.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=said):
        load_settings(path, {}, {})


SECRETS = [
    pytest.param({"upstream.url": "http://ada:hunter2@node:9200"}, id="in-the-url"),
    pytest.param({"upstream.password": {"oops": "hunter2"}}, id="password"),
    pytest.param({"auth.keys": {"one": "hunter2"}}, id="key"),
]


@pytest.mark.parametrize("flags", SECRETS)
def test_a_refusal_never_shows_a_secret(flags: dict[str, JsonValue], tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(None, {}, flags)
    assert "hunter2" not in str(refused.value)
    assert next(iter(flags)) in str(refused.value)


@pytest.mark.parametrize("key", list(known_keys()))
def test_a_known_key_is_not_refused_as_unknown(key: str, tmp_path: Path) -> None:
    *tables, last = key.replace("<name>", "mail").replace("<id>", "spam").split(".")
    with pytest.raises(SettingsError, match=r"^(?!.*unknown setting)"):
        load(tmp_path, f"[{'.'.join(tables)}]\n{last} = [[]]")


def test_the_history_of_an_index(tmp_path: Path) -> None:
    settings = load(tmp_path, HISTORIES + '[histories.again]\nindex = "mail"\nk = 99').settings
    assert settings.of_index("mail").k == 5
    assert settings.of_index("other").k == 7
    assert settings.of_index("other").index == "other"
    assert settings.is_configured("chat")
    assert not settings.is_configured("other")
    assert not settings.is_configured("")
