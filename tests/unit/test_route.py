"""Which targets are ours, on each port."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.http1 import Endpoint, Route, origin_form, route_es_port, route_native_port

ES_PORT = [
    # generous below `_decide`: no index name begins with `_`
    ("/_decide", Endpoint.DECIDE),
    ("/_decide/", Endpoint.DECIDE),
    ("/_decide?pretty", Endpoint.DECIDE),
    ("/_decide?", Endpoint.DECIDE),
    ("//_decide", Endpoint.DECIDE),
    ("/_decide//", Endpoint.DECIDE),
    ("/%5Fdecide", Endpoint.DECIDE),
    ("/%5fdecid%65", Endpoint.DECIDE),
    ("/_decide/_status", Endpoint.STATUS),
    ("//_decide//_status/?x=1", Endpoint.STATUS),
    ("/_decide/nothing", Endpoint.UNKNOWN),
    ("/_decide/_status/more", Endpoint.UNKNOWN),
    ("http://host:1/_decide", Endpoint.DECIDE),
    ("http://host/_decide?x=/i", Endpoint.DECIDE),
    # exact below `v1`, which may be an index
    ("/v1/systemone", Endpoint.SYSTEMONE),
    ("/v1/systemone?x", Endpoint.SYSTEMONE),
    ("/v1/models", Endpoint.MODELS),
    ("/v1/systemone/", None),
    ("//v1/systemone", None),
    ("/v1//systemone", None),
    ("/v1/systemone/_search", None),
    ("/V1/systemone", None),
    ("/v1", None),
    ("/v1/_search", None),
    ("/v1/_doc/1", None),
    ("/v1%2Fsystemone", None),
    # the node's
    ("/", None),
    ("", None),
    ("*", None),
    ("host:443", None),
    ("http://host", None),
    ("http://host?x=/_decide", None),
    ("/i/_decide", None),
    ("/_decided", None),
    ("/_decide%2F_status", None),
    ("/_DECIDE", None),
    ("/i?x=/_decide", None),
    ("/?/_decide", None),
    ("/metrics", None),
    ("/histories/x/v1/systemone", None),
    ("/v1/rerank", None),
    ("/rerank", None),
]


@pytest.mark.parametrize(("target", "endpoint"), ES_PORT)
def test_es_port(target: str, endpoint: Endpoint | None) -> None:
    assert route_es_port(target) == (None if endpoint is None else Route(endpoint))


NATIVE_PORT = [
    ("/v1/systemone", Route(Endpoint.SYSTEMONE)),
    ("/v1/models?x", Route(Endpoint.MODELS)),
    ("/histories/mail/v1/systemone", Route(Endpoint.SYSTEMONE, "mail")),
    ("/histories/mail/v1/models", Route(Endpoint.MODELS, "mail")),
    ("/histories/a%2Fb/v1/models", Route(Endpoint.MODELS, "a/b")),
    ("/metrics", Route(Endpoint.METRICS)),
    ("/health/live", Route(Endpoint.LIVE)),
    ("/health/ready", Route(Endpoint.READY)),
    ("/histories//v1/systemone", Route(Endpoint.UNKNOWN)),
    ("/histories/mail/v1/rerank", Route(Endpoint.UNKNOWN)),
    ("/histories/a/b/v1/models", Route(Endpoint.UNKNOWN)),
    ("/_decide", Route(Endpoint.UNKNOWN)),
    ("/", Route(Endpoint.UNKNOWN)),
    ("/rerank", Route(Endpoint.UNKNOWN)),
]


@pytest.mark.parametrize(("target", "route"), NATIVE_PORT)
def test_native_port(target: str, route: Route) -> None:
    assert route_native_port(target) == route


ORIGIN_FORMS = [
    ("/a%2Fb/../c?x=1;y#z", "/a%2Fb/../c?x=1;y#z"),
    ("//host/x", "//host/x"),
    ("http://host:1/a%2Fb?x=/", "/a%2Fb?x=/"),
    ("HTTPS://user@host", "/"),
    ("http://host?x=/_decide", "/?x=/_decide"),
    ("*", "/*"),
    ("host:443", "/"),
]


@pytest.mark.parametrize(("target", "path"), ORIGIN_FORMS)
def test_origin_form(target: str, path: str) -> None:
    assert origin_form(target) == path


SEGMENTS = st.sampled_from(
    ["_decide", "%5Fdecide", "v1", "systemone", "_status", "histories", "..", "%2F", "", "?", "#"]
)
TARGETS = st.text() | st.lists(SEGMENTS).map("/".join) | st.text(alphabet="/%5F_decide?#:*.")


@given(TARGETS)
def test_any_target_has_an_answer(target: str) -> None:
    assert isinstance(route_es_port(target), Route | None)
    assert isinstance(route_native_port(target), Route)
    assert origin_form(target).startswith("/")


@given(TARGETS)
def test_the_absolute_form_is_routed_as_its_path(target: str) -> None:
    if target.startswith("/"):
        assert origin_form("http://host.example:9200" + target) == target
        assert route_es_port("http://host.example:9200" + target) == route_es_port(target)


@given(st.text(alphabet=st.characters(exclude_characters="_%"), min_size=1), st.text())
def test_no_index_reaches_decide(index: str, rest: str) -> None:
    """A path whose first segment is a lawful index name is the node's, apart from the two exact ones below `v1`."""
    target = f"/{index.replace('/', '')}x/{rest}"
    assert route_es_port(target) is None
