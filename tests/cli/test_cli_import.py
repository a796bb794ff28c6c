"""`sidecar import`: files of every form become a history, once, and nothing of a person's is overwritten."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_words import Ask, Run

from sidecar.engine import RunningNode, free_port

CSV = b'text,label\nwhere is my parcel,shipping\n"a refund, please",refunds\n'
TSV = b"text\tlabel\nwhere is my parcel\tshipping\na refund, please\trefunds\n"
JSONL = b'{"text": "where is my parcel", "label": "shipping"}\n{"text": "a refund, please", "label": "refunds"}\n'
WANTED = {("where is my parcel", "shipping"), ("a refund, please", "refunds")}

FILES = [
    pytest.param("cases.csv", CSV, (), id="csv"),
    pytest.param("cases.tsv", TSV, (), id="tsv"),
    pytest.param("cases.jsonl", JSONL, (), id="jsonl"),
    pytest.param("cases.ndjson", JSONL, (), id="ndjson"),
    pytest.param("cases.csv.gz", gzip.compress(CSV), (), id="csv-gz"),
    pytest.param("cases.jsonl.gz", gzip.compress(JSONL), (), id="jsonl-gz"),
    pytest.param("cases.csv", b"\xef\xbb\xbf" + CSV, (), id="bom"),
    pytest.param("cases.jsonl", b"\xef\xbb\xbf" + JSONL, (), id="jsonl-bom"),
    pytest.param("cases.csv", CSV.replace(b"\n", b"\r\n"), (), id="crlf"),
    pytest.param("cases.csv", CSV.rstrip(b"\n"), (), id="no-newline-at-the-end"),
    pytest.param("cases.csv", CSV.replace(b"\nwhere", b"\n\n\nwhere"), (), id="empty-lines"),
    pytest.param("cases.txt", TSV, ("--format", "tsv"), id="format-named"),
    pytest.param(
        "cases.csv", CSV.replace(b"text,label", b"body,queue"), ("--text", "body", "--label", "queue"), id="columns"
    ),
]


def documents(ask: Ask, node: RunningNode, index: str) -> dict[str, dict[str, object]]:
    ask(node.url, "POST", f"/{index}/_refresh")
    hits = ask(node.url, "GET", f"/{index}/_search?size=1000")["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


@pytest.mark.parametrize(("name", "content", "words"), FILES)
def test_a_file_becomes_a_history(
    name: str,
    content: bytes,
    words: tuple[str, ...],
    tmp_path: Path,
    opensearch: RunningNode,
    index: str,
    run: Run,
    ask: Ask,
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    done = run("import", str(file), "--upstream", opensearch.url, "--index", index, *words)
    assert done.status == 0, done.err
    assert f"2 cases loaded, 0 already there, 0 rejected; [{index}] holds 2 documents" in done.err
    assert done.out == ""
    stored = documents(ask, opensearch, index).values()
    assert {(document["text"], document["label"]) for document in stored} == WANTED


def test_a_new_index_can_vote_and_a_second_run_writes_nothing(
    node: RunningNode, tmp_path: Path, index: str, run: Run, ask: Ask
) -> None:
    file = tmp_path / "cases.csv"
    file.write_bytes(CSV + b"where is my parcel,shipping\n")
    words = ("import", str(file), "--upstream", node.url, "--index", index)
    first = run(*words)
    assert first.status == 0, first.err
    assert f"index [{index}] created with a mapping for votes" in first.err
    properties = ask(node.url, "GET", f"/{index}/_mapping")[index]["mappings"]["properties"]
    kinds = {name: field["type"] for name, field in properties.items()}
    assert kinds == {
        "text": "text",
        "label": "keyword",
        "p": "float",
        "source": "keyword",
        "ts": "date",
        "human": "boolean",
    }
    before = documents(ask, node, index)
    assert len(before) == 3  # equal cases stay as many as they are

    corrected = next(iter(before))
    person = {"text": before[corrected]["text"], "label": "other", "human": True}
    ask(node.url, "PUT", f"/{index}/_doc/{corrected}?refresh=true", person)
    second = run(*words)
    assert second.status == 0
    assert "0 cases loaded, 3 already there, 0 rejected" in second.err
    assert documents(ask, node, index) == before | {corrected: person}


def test_ids_of_a_column(opensearch: RunningNode, tmp_path: Path, index: str, run: Run, ask: Ask) -> None:
    file = tmp_path / "cases.jsonl"
    rows = [
        {"nr": 7, "text": "one", "label": "a"},
        {"nr": "x/y", "text": "two", "label": "b"},
        {"nr": "", "text": "three", "label": "c"},
        {"nr": "é" * 300, "text": "four", "label": "d"},
        {"nr": 7, "text": "again", "label": "a"},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    done = run("import", str(file), "--upstream", opensearch.url, "--index", index, "--id", "nr")
    assert done.status == 1
    assert "line 3: no nr" in done.err
    assert "line 4: more than 512 bytes in nr" in done.err
    assert "2 cases loaded, 1 already there, 2 rejected" in done.err
    assert set(documents(ask, opensearch, index)) == {"7", "x/y"}


REJECTED = [
    pytest.param(
        "cases.csv",
        b'text,label\n,a\none,a\n"two\nlines",\n   ,a\nshort\n',
        ["line 2: no text", "line 5: no label", "line 6: no text", "line 7: no label"],
        id="csv",
    ),
    pytest.param(
        "cases.jsonl",
        b'{"text":"one","label":"a"}\n\n{"text":"","label":"a"}\n[1]\n{"text":1,"label":"a"}\n{"label":"a"}\nx\n'
        b'{"text":"\\ud800","label":"a"}\n' + b"[" * 100_000 + b"\n",
        [
            "line 3: no text",
            "line 4: not a JSON object",
            "line 5: no text",
            "line 6: no text",
            "line 7: not valid JSON",
            "line 8: no valid Unicode in text",
            "line 9: not valid JSON",
        ],
        id="jsonl",
    ),
]


@pytest.mark.parametrize(("name", "content", "lines"), REJECTED)
def test_rows_that_are_no_cases_are_named_and_the_others_loaded(
    name: str,
    content: bytes,
    lines: list[str],
    tmp_path: Path,
    opensearch: RunningNode,
    index: str,
    run: Run,
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    done = run("import", str(file), "--upstream", opensearch.url, "--index", index)
    assert done.status == 1
    assert [line for line in done.err.splitlines() if line.startswith("line ")] == lines
    assert f"1 cases loaded, 0 already there, {len(lines)} rejected" in done.err


def test_labels_of_json_are_text(opensearch: RunningNode, tmp_path: Path, index: str, run: Run, ask: Ask) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text('{"text":"a","label":true}\n{"text":"b","label":3}\n{"text":"c","label":0.5}\n')
    done = run("import", str(file), "--upstream", opensearch.url, "--index", index)
    assert done.status == 1
    assert "line 3: no label" in done.err
    stored = documents(ask, opensearch, index).values()
    assert {(document["text"], document["label"]) for document in stored} == {("a", "true"), ("b", "3")}


WRONG_FILES = [
    pytest.param("none.csv", None, "none.csv cannot be read: No such file", id="missing"),
    pytest.param("cases.xlsx", b"", "unknown format; name it .csv, .tsv or .jsonl, or give --format", id="format"),
    pytest.param("cases.csv", b"", "has no column text, label; its columns are none", id="empty"),
    pytest.param(
        "cases.csv", b"text,queue\na,b\n", "has no column label; its columns are text, queue", id="missing-column"
    ),
    pytest.param("cases.csv", CSV * 2000 + b"caf\xe9,a\n", "is not UTF-8 in line 6001", id="latin-1"),
    pytest.param("cases.csv", CSV.decode().encode("utf-16"), "is not UTF-8 in line 1", id="utf-16"),
    pytest.param("cases.csv.gz", CSV, "cannot be read: Not a gzipped file", id="gz-that-is-plain"),
    pytest.param("cases.csv.gz", gzip.compress(CSV)[:-9], "cannot be read", id="gz-cut"),
    pytest.param("cases.csv", b'text,label\n"open,a\n', "is not valid csv", id="open-quote"),
]


@pytest.mark.parametrize(("name", "content", "said"), WRONG_FILES)
def test_a_file_that_cannot_be_loaded(
    name: str, content: bytes | None, said: str, tmp_path: Path, opensearch: RunningNode, index: str, run: Run
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    done = run("import", str(file), "--upstream", opensearch.url, "--index", index)
    assert done.status == 1
    assert said in done.err.replace("\n", " ")
    assert "Traceback" not in done.err


USAGE = [
    pytest.param(("import", "x.csv"), "name the index with --index NAME", id="no-index"),
    pytest.param(("import",), "Missing argument 'FILE'", id="no-file"),
    pytest.param(("import", "x.csv", "--index", "Upper"), "is not lower case", id="index-in-capitals"),
    pytest.param(("import", "x.csv", "--index", "a*"), "index name", id="index-pattern"),
    pytest.param(("import", "x.csv", "--index", "a", "--format", "xml"), "--format", id="format"),
    pytest.param(("import", "x.csv", "--index", "a", "--upstream", "node"), "upstream.url = 'node'", id="upstream"),
    pytest.param(("import", "x.csv", "--index", "a", "--text-field", ""), "decisions.text_field", id="text-field"),
    pytest.param(("import", "x.csv", "--indx", "a"), "No such option", id="option"),
    pytest.param(("import", "x.csv", "--config", "none.toml"), "none.toml does not exist", id="config"),
]


@pytest.mark.parametrize(("words", "said"), USAGE)
def test_wrong_usage(words: tuple[str, ...], said: str, run: Run) -> None:
    done = run(*words)
    assert done.status == 2
    assert said in done.err


def test_a_node_that_is_down(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "cases.csv"
    file.write_bytes(CSV)
    done = run("import", str(file), "--upstream", f"http://127.0.0.1:{free_port()}", "--index", "cases")
    assert done.status == 1
    assert "the node is unreachable" in done.err
    assert "Traceback" not in done.err


CANNOT_VOTE = [
    pytest.param({"text": {"type": "keyword"}}, "field [text] is keyword, not text", id="text-keyword"),
    pytest.param({"text": {"type": "text", "index": False}}, "cannot be searched", id="text-not-indexed"),
    pytest.param({"label": {"type": "float"}}, "field [label] is float", id="label-float"),
    pytest.param(
        {"label": {"properties": {"a": {"type": "keyword"}}}},
        "labels in [label]; an object may have",
        id="label-object",
    ),
    pytest.param({"label": {"type": "date"}}, "field [label] is date", id="label-date"),
]


@pytest.mark.parametrize(("properties", "said"), CANNOT_VOTE)
def test_a_mapping_that_cannot_vote_is_refused(
    properties: dict[str, object],
    said: str,
    node: RunningNode,
    tmp_path: Path,
    index: str,
    run: Run,
    ask: Ask,
) -> None:
    ask(node.url, "PUT", f"/{index}", {"mappings": {"properties": properties}})
    file = tmp_path / "cases.csv"
    file.write_bytes(CSV)
    done = run("import", str(file), "--upstream", node.url, "--index", index)
    assert done.status == 1
    assert f"history index [{index}] cannot vote: " in done.err
    assert said in done.err
    assert ask(node.url, "GET", f"/{index}/_count")["count"] == 0


EXTENDED = [
    pytest.param({"n": {"type": "integer"}}, "text", "label", id="both"),
    pytest.param({"text": {"type": "text", "analyzer": "simple"}}, "text", "label", id="label-only"),
    pytest.param(
        {"case": {"properties": {"body": {"type": "text", "analyzer": "simple"}}}},
        "case.body",
        "case.queue",
        id="label-beside-the-text",
    ),
]


@pytest.mark.parametrize(("properties", "text", "label"), EXTENDED)
def test_missing_fields_are_added(
    properties: dict[str, object],
    text: str,
    label: str,
    opensearch: RunningNode,
    tmp_path: Path,
    index: str,
    run: Run,
    ask: Ask,
) -> None:
    ask(opensearch.url, "PUT", f"/{index}", {"mappings": {"properties": properties}})
    file = tmp_path / "cases.csv"
    file.write_bytes(CSV)
    words = ("--upstream", opensearch.url, "--index", index, "--text-field", text, "--label-field", label)
    done = run("import", str(file), *words)
    assert done.status == 0, done.err
    assert f"index [{index}] extended by the fields that a vote needs" in done.err
    fields = ask(opensearch.url, "GET", f"/{index}/_mapping/field/{text},{label}")[index]["mappings"]
    kinds = {name: next(iter(field["mapping"].values()))["type"] for name, field in fields.items()}
    assert kinds == {text: "text", label: "keyword"}


def test_an_interrupted_import_is_continued(
    opensearch: RunningNode, tmp_path: Path, index: str, run: Run, ask: Ask
) -> None:
    rows = 60_000
    file = tmp_path / "cases.csv"
    file.write_text("text,label\n" + "".join(f"case number {number},label-{number % 7}\n" for number in range(rows)))
    words = ("import", str(file), "--upstream", opensearch.url, "--index", index)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
    with subprocess.Popen(
        [sys.executable, "-m", "sidecar", *words], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None and not written(ask, opensearch, index):
            assert time.monotonic() < deadline, "nothing was written within 60 s"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert f"cases are in [{index}]; run the same command again to continue" in said
    assert "Traceback" not in said
    there = len_of(ask, opensearch, index)
    assert 0 < there < rows
    done = run(*words)
    assert done.status == 0
    assert (
        f"{rows - there} cases loaded, {there} already there, 0 rejected; [{index}] holds {rows} documents" in done.err
    )


def written(ask: Ask, node: RunningNode, index: str) -> bool:
    """Whether the node has taken any document of that index."""
    found = ask(node.url, "GET", f"/_cat/indices/{index}*?format=json&h=index")
    return bool(found) and len_of(ask, node, index) > 0


def len_of(ask: Ask, node: RunningNode, index: str) -> int:
    ask(node.url, "POST", f"/{index}/_refresh")
    return int(ask(node.url, "GET", f"/{index}/_count")["count"])
