"""The pinned table, and where a distribution is downloaded from."""

from __future__ import annotations

import pytest

from sidecar.engine.distribution import DEFAULT, DISTRIBUTIONS, distribution
from sidecar.engine.download import build_request, download_address
from sidecar.errors import EngineError


def test_the_default_is_opensearch() -> None:
    assert distribution(DEFAULT).title == "OpenSearch 3.8.0"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(EngineError, match=r"'solr'.*opensearch3, elasticsearch7"):
        distribution("solr")


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_entry_is_pinned(name: str) -> None:
    entry = DISTRIBUTIONS[name]
    assert len(bytes.fromhex(entry.sha256)) == 32
    assert entry.java_min <= entry.java_max


@pytest.mark.parametrize(
    ("mirror", "expected"),
    [
        pytest.param("https://repo.maven.apache.org/maven2", "https://repo.maven.apache.org/maven2/", id="central"),
        pytest.param("http://mirror.test:8081/maven/", "http://mirror.test:8081/maven/", id="trailing-slash"),
    ],
)
def test_address_below_a_mirror(mirror: str, expected: str) -> None:
    path = "org/elasticsearch/distribution/integ-test-zip/elasticsearch/7.17.28/elasticsearch-7.17.28.zip"
    assert download_address(mirror, DISTRIBUTIONS["elasticsearch7"]) == expected + path


def test_credentials_of_a_mirror_are_sent_and_not_shown() -> None:
    request, shown = build_request("https://us%40er:pass@mirror.test/maven/a.zip")
    assert shown == request.full_url == "https://mirror.test/maven/a.zip"
    assert request.unredirected_hdrs == {"Authorization": "Basic dXNAZXI6cGFzcw=="}


def test_a_mirror_must_be_http() -> None:
    with pytest.raises(EngineError, match=r"engine\.mirror must be an http or https address"):
        build_request("ftp://mirror.test/a.zip")
