"""Any body at all, from bytes to the answer: a 200 or a documented error, and what every 200 keeps to."""

from __future__ import annotations

import json
import math
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.api import (
    parse_decide,
    parse_json,
    parse_systemone,
    render_decide,
    render_error,
    render_json,
    render_systemone,
)
from sidecar.decide import AuditDecider, SystemOneDecider
from sidecar.decide.sources import HitSource, LabelSource
from sidecar.errors import SidecarError
from sidecar.node import Identity, Retrieved, Search
from sidecar.settings import History, Limits, Settings
from sidecar.terms import HISTORY_MODEL, DocumentId, IndexName, JsonObject, JsonValue, Label, Scope
from sidecar.vote import Hit

T = TypeVar("T")
LIMITS = Limits(body_bytes=1 << 20, json_depth=12, questions=6, options=6, levels=4, text_chars=60)
LABELS = ("true", "spam", "ham", "0", "1", "2", "한국어", "a.b", "low", "high")
NOBODY = Identity(None, None)
CASES = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


class Words(HitSource, LabelSource):
    """A history of one word per document, each labelled by it; a text's hits depend on that text alone."""

    async def fetch_hits(self, searches: Sequence[Search], identity: Identity) -> list[Retrieved]:
        return [_retrieve(search) for search in searches]

    async def diagnose(self, scope: Scope, identity: Identity) -> None:
        return None

    async def knows_label(self, scope: Scope, label: str, identity: Identity) -> bool:
        return label in LABELS

    async def labels(self, scope: Scope, identity: Identity) -> frozenset[str] | None:
        return frozenset(("0", "1", "2"))

    async def seeded_labels(self, scope: Scope, identity: Identity) -> frozenset[str] | None:
        return frozenset(LABELS)

    async def has_terms(self, scope: Scope, text: str, identity: Identity) -> bool:
        return any(char.isalnum() for char in text)


def _retrieve(search: Search) -> Retrieved:
    seed = sum(search.text.encode("utf-8", "surrogatepass"))
    labels = [LABELS[(seed + step * step) % len(LABELS)] for step in range(seed % 14)]
    hits = tuple(
        Hit(DocumentId(f"{place}"), IndexName("cases"), 20.0 - place // 2, Label(label), text=search.text[place:])
        for place, label in enumerate(labels)
    )
    person = Hit(DocumentId("p"), IndexName("cases"), 1.0, Label(LABELS[seed % 10]), human=True, text=search.text)
    return Retrieved(hits, exhausted=True, lookup=(person,) if search.lookup and seed % 5 == 0 else ())


HISTORY = History(index="cases", positive_label="spam", k=5)
SETTINGS = Settings(decisions=HISTORY, limits=LIMITS)
SYSTEMONE = SystemOneDecider(SETTINGS, Words(), Words(), None)
AUDIT = AuditDecider(SETTINGS, Words(), Words(), None, Identity())
STATUSES = {401, 403, 404, 415, 422, 429, 503, 504}
TYPES = {"illegal_argument", "max_tokens_exceeded", "no_support", "history_index_error", "unsupported_media_type"}


def finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits: no event loop is needed."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    raise AssertionError("a fake source waits for something")


def systemone(body: bytes) -> tuple[int, JsonObject]:
    """What a caller gets; an exception that is no SidecarError fails the test."""
    try:
        request = parse_systemone(parse_json(body, LIMITS), LIMITS)
        result = finished(SYSTEMONE.answer(request, HISTORY, NOBODY))
    except SidecarError as error:
        return _refused(error)
    answer = render_systemone(
        request.questions,
        result.answers,
        model=HISTORY_MODEL,
        input_tokens=result.input_tokens,
        output_tokens=len(result.answers),
        decisions={},
    )
    return 200, cast(JsonObject, json.loads(render_json(answer)))


def decide(body: bytes) -> tuple[int, JsonObject]:
    try:
        decision = finished(AUDIT.decide(parse_decide(parse_json(body, LIMITS)), NOBODY))
    except SidecarError as error:
        return _refused(error)
    return 200, cast(JsonObject, json.loads(render_json(render_decide(decision))))


def _refused(error: SidecarError) -> tuple[int, JsonObject]:
    response = render_error(error)
    body = json.loads(render_json(response.body))
    assert response.status in STATUSES, body
    detail = body["detail"]
    assert isinstance(detail, list) or detail["error_type"] in TYPES, body
    assert body["status"] == response.status
    assert body["error"]["reason"]
    return response.status, body


def encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


WORDS = st.sampled_from(["spam", "ham `a`", "`state`", "`a.b`", "", " ", "\x00", "`true`", "글", "🙂", "x" * 80, "``"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
ANY_JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | WORDS, inner, max_size=3),
    max_leaves=10,
)
TEXTS = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "a.b"]), inner, max_size=2),
    max_leaves=4,
)
NOULS = st.fixed_dictionaries({"type": st.just("noul"), "instructions": TEXTS})
CHOICES = st.fixed_dictionaries(
    {
        "type": st.just("choice"),
        "criteria": st.dictionaries(st.sampled_from(LABELS), st.none() | TEXTS, min_size=1, max_size=6),
    },
    optional={"instructions": TEXTS},
)
SCORES = st.fixed_dictionaries(
    {"type": st.just("score"), "criteria": st.lists(st.sampled_from(LABELS) | TEXTS, min_size=1, max_size=4)},
    optional={"instructions": TEXTS},
)
IDS = st.sampled_from(["q", "a b", "a.b", "질문", "🙂", "x" * 200])
REQUESTS = st.fixed_dictionaries(
    {"state": TEXTS, "questions": st.dictionaries(IDS, NOULS | CHOICES | SCORES, min_size=1, max_size=4)}
)
PLAIN = st.sampled_from(["which is it", {"note": "which"}, ["read", "all"]])


@st.composite
def answerable(draw: st.DrawFn) -> dict[str, Any]:
    """Requests without references, so that most have an answer."""
    questions = {}
    for name in draw(st.lists(IDS, min_size=1, max_size=4, unique=True)):
        options = draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=6, unique=True))
        kind = draw(st.sampled_from(["noul", "choice", "score"]))
        criteria: object = {"true": "yes"}
        if kind != "noul":
            criteria = dict.fromkeys(options) if kind == "choice" else ["0", "1", "2"]
        questions[name] = {"type": kind, "instructions": draw(PLAIN), "criteria": criteria}
    return {"model": "jev-latest", "state": draw(st.text("abcdefg ", min_size=1, max_size=12)), "questions": questions}


@st.composite
def mutated(draw: st.DrawFn) -> object:
    """A valid request with one value somewhere put out of place."""
    request: JsonValue = draw(answerable())
    place: Any = request
    for _ in range(draw(st.integers(0, 4))):
        keys: list[Any] = list(place) if isinstance(place, dict) else [*range(len(place))]
        key = draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
    keys = list(place) if isinstance(place, dict) else [*range(len(place))]
    key = draw(st.sampled_from(keys))
    if draw(st.booleans()):
        del place[key]
    else:
        place[key] = draw(ANY_JSON)
    return request


def check_answers(body: JsonObject, questions: dict[str, Any]) -> None:
    answers = cast("dict[str, Any]", body["answers"])
    assert list(answers) == list(questions)
    for name, answer in answers.items():
        asked = questions[name]
        assert answer["type"] == asked["type"]
        if answer["type"] == "noul":
            assert answer.keys() == {"type", "noul"}
            assert 0 <= answer["noul"] <= 1
            continue
        shares = answer["probabilities"]
        assert math.fsum(shares.values()) == 1 or abs(math.fsum(shares.values()) - 1) < 1e-6
        assert all(0 <= share <= 1 for share in shares.values())
        assert 0 <= answer["confidence"] <= 1
        if answer["type"] == "choice":
            assert list(shares) == list(asked["criteria"])
            assert shares[answer["choice"]] == max(shares.values())
        else:
            assert list(shares) == [str(level) for level in range(len(asked["criteria"]))]
            assert list(answer["legend"].values()) == asked["criteria"]
            expected = sum(int(level) * share for level, share in shares.items())
            assert abs(answer["score"] - expected) < 1e-5


@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("utf-8", "surrogatepass")))
@CASES
def test_any_bytes(body: bytes) -> None:
    assert systemone(body)[0] in (415, 422)
    assert decide(body)[0] in (200, 422)


@given(ANY_JSON)
@CASES
def test_any_json(value: object) -> None:
    systemone(encode(value))
    decide(encode(value))


@given(REQUESTS)
@CASES
def test_any_request_of_the_right_shape(request: dict[str, Any]) -> None:
    status, body = systemone(encode(request))
    if status == 200:
        check_answers(body, request["questions"])
    elif isinstance(body["detail"], list):
        raise AssertionError(body["detail"])


@given(mutated())
@CASES
def test_a_request_with_one_value_out_of_place(request: Any) -> None:
    status, body = systemone(encode(request))
    if status == 200:
        check_answers(body, request["questions"])


@given(
    st.fixed_dictionaries(
        {"index": st.sampled_from(["cases", "*", "a,b", "..", "A"]) | ANY_JSON, "question": WORDS | ANY_JSON},
        optional={"k": st.integers() | ANY_JSON, "positive_label": WORDS | ANY_JSON, "create": ANY_JSON, "x": ANY_JSON},
    )
)
@CASES
def test_any_decide(request: dict[str, Any]) -> None:
    status, body = decide(encode(request))
    if status == 200:
        assert request["index"] == body["index"]
        assert 1 <= cast(int, body["k"]) <= 100
        assert 0 <= cast(float, body["confidence"]) <= 1
        assert (body["label"] is None) == (body["neighbours"] == [])


@given(answerable(), st.randoms(use_true_random=False))
@CASES
def test_order_and_ids_change_nothing(request: dict[str, Any], random: Any) -> None:
    status, body = systemone(encode(request))
    names = list(request["questions"])
    random.shuffle(names)
    renamed = {f"id {place}": name for place, name in enumerate(names)}
    questions = {new: dict(request["questions"][name]) for new, name in renamed.items()}
    for question in questions.values():
        if question["type"] == "choice":
            options = list(question["criteria"])
            random.shuffle(options)
            question["criteria"] = dict.fromkeys(options)
    again_status, again = systemone(encode(request | {"questions": questions}))
    assert again_status == status
    if status == 200:
        check_answers(body, request["questions"])
        answers = cast("dict[str, Any]", body["answers"])
        assert again["answers"] == {new: answers[name] for new, name in renamed.items()}


@given(answerable())
@CASES
def test_a_question_is_answered_as_if_alone(request: dict[str, Any]) -> None:
    status, body = systemone(encode(request))
    alone = {
        name: systemone(encode(request | {"questions": {name: one}})) for name, one in request["questions"].items()
    }
    assert (status == 200) == all(code == 200 for code, _ in alone.values())
    if status == 200:
        answers = cast("dict[str, Any]", body["answers"])
        assert answers == {name: cast("dict[str, Any]", one["answers"])[name] for name, (_, one) in alone.items()}
