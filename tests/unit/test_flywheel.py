"""The flywheel without a node: ids, documents, which answers are kept, and the queue that nothing waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import xxhash

from sidecar.api import Answer, ChoiceAnswer, Decision, Evidence, NoulAnswer, PremiseCut, ScoreAnswer
from sidecar.decide import flywheel as flywheel_module
from sidecar.decide.flywheel import BATCH_ENTRIES, Entry, Flywheel, negative_label
from sidecar.decide.lessons import audit_lesson, may_write, systemone_lessons
from sidecar.decide.plan import Plan, plan_questions
from sidecar.errors import HistoryUnavailable
from sidecar.metrics import Metrics
from sidecar.node import CachedAnswer, Identity, Outcome, can_hold
from sidecar.node.cached_answer import mapping_of
from sidecar.settings import History, QuestionScope
from sidecar.terms import ChoiceQuestion, IndexName, NoulQuestion, QuestionId, Scope, ScoreQuestion, Tier

NOW = datetime(2026, 3, 4, 5, 6, 7, 891_234, tzinfo=UTC)
OWN = Identity("ApiKey own")
HISTORY = History(index="cases", positive_label="spam")


def cached(text: str = "a text", label: str = "spam", **more: Any) -> CachedAnswer:
    fields = {"p": 0.9, "source": "local", "ts": "t", "text_field": "text", "label_field": "label"}
    return CachedAnswer(text, label, **(fields | {"history_label": "label"} | more))


def entry(text: str = "a text", *, index: str = "cases", negative_of: str | None = None, **more: Any) -> Entry:
    identity, create = more.pop("identity", OWN), more.pop("create", True)
    return Entry(Scope(IndexName(index), "text", "label"), cached(text, **more), identity, create, negative_of)


# Ids and documents


@pytest.mark.parametrize(
    ("text", "digest"),
    [("", "99aa06d3014798d86001c324468d497f"), ("a", "a96faf705af16834e6c632b61e964e1f")],
    ids=["empty", "a"],
)
def test_an_id_is_the_published_hash_of_the_text(text: str, digest: str) -> None:
    assert cached(text).id == f"decide-{digest}"


@pytest.mark.parametrize("text", ["Grüße 🎉", "a\0b", " spaces stay ", "x" * 100_000])
def test_an_id_is_of_the_utf8_text_as_it_is(text: str) -> None:
    assert cached(text).id == "decide-" + xxhash.xxh3_128(text.encode("utf-8")).hexdigest()
    assert cached(text, label="ham", p=0.1, ts="later").id == cached(text).id


def test_a_label_field_of_its_own_is_in_the_id() -> None:
    own = cached("a text", label_field="queue")
    assert own.id == "decide-" + xxhash.xxh3_128(b"queue\0a text").hexdigest()
    assert own.id != cached("a text").id
    assert cached("a text", label_field="queue", history_label="queue").id == cached("a text").id


def test_a_document_holds_the_documented_members_and_no_other() -> None:
    assert cached().document() == {"text": "a text", "label": "spam", "p": 0.9, "source": "local", "ts": "t"}
    dotted = cached(text_field="body.text", label_field="body.label").document()
    assert dotted == {"body": {"text": "a text", "label": "spam"}, "p": 0.9, "source": "local", "ts": "t"}


@pytest.mark.parametrize(
    ("text_field", "label_field", "holds"),
    [
        ("text", "label", True),
        ("a.text", "a.label", True),
        ("text", "human", False),
        ("source", "label", False),
        ("text", "p.label", False),
        ("text", "text", False),
        ("text", "text.label", False),
        ("texts", "text", True),
    ],
)
def test_text_and_label_need_places_of_their_own(text_field: str, label_field: str, holds: bool) -> None:
    assert can_hold(text_field, label_field) is holds


def test_a_new_index_knows_every_label_field_of_its_first_answers() -> None:
    answers = [cached(text_field="body.text", label_field="body.queue"), cached(text_field="body.text")]
    assert mapping_of(answers) == {
        "properties": {
            "p": {"type": "float"},
            "source": {"type": "keyword"},
            "ts": {"type": "date"},
            "human": {"type": "boolean"},
            "label": {"type": "keyword"},
            "body": {"properties": {"text": {"type": "text"}, "queue": {"type": "keyword"}}},
        }
    }


# What is kept


def noul(name: str = "q", instructions: Any = "Is it?") -> NoulQuestion:
    return NoulQuestion(QuestionId(name), instructions)


def local(**more: Any) -> Evidence:
    return Evidence(**({"tier": Tier.LOCAL, "source": "local", "label": "spam", "support": None} | more))


def lessons(
    *told: tuple[Any, Answer, Evidence], state: Any = "a text", history: History | None = HISTORY
) -> tuple[Entry, ...]:
    plans: list[Plan] = plan_questions([question for question, _, _ in told], state, history or HISTORY, 100_000)
    answered = {question.id: (answer, evidence) for question, answer, evidence in told}
    return systemone_lessons(plans, answered, history, OWN, NOW)


def test_a_noul_is_kept_with_its_label_and_that_labels_probability() -> None:
    (yes,) = lessons((noul(), NoulAnswer(0.75), local()))
    assert yes.answer.document() == {
        "text": "a text",
        "label": "spam",
        "p": 0.75,
        "source": "local",
        "ts": "2026-03-04T05:06:07.891Z",
    }
    assert (yes.negative_of, yes.create, yes.identity, yes.index) == (None, True, OWN, "cases")
    (no,) = lessons((noul(), NoulAnswer(0.2), local()))
    assert (no.answer.label, no.answer.p, no.negative_of) == ("not spam", 0.8, "spam")
    (even,) = lessons((noul(), NoulAnswer(0.5), local()))
    assert (even.answer.label, even.answer.p) == ("spam", 0.5)


def test_a_choice_is_kept_under_its_winner() -> None:
    question = ChoiceQuestion(QuestionId("c"), "Which?", ("a", "b"))
    (kept,) = lessons((question, ChoiceAnswer("b", 0.4, {"a": 0.3, "b": 0.7}), local()))
    assert (kept.answer.label, kept.answer.p, kept.negative_of) == ("b", 0.7, None)


def test_of_several_answers_on_one_text_the_most_probable_is_kept() -> None:
    choice = ChoiceQuestion(QuestionId("c"), "Which?", ("a", "b"))
    told = (
        (noul("first"), NoulAnswer(0.6), local()),
        (choice, ChoiceAnswer("b", 0.8, {"a": 0.1, "b": 0.9}), local()),
        (noul("last"), NoulAnswer(0.3), local()),
    )
    (kept,) = lessons(*told)
    assert (kept.answer.label, kept.answer.p) == ("b", 0.9)
    assert lessons(*reversed(told))[0].answer == kept.answer


def test_texts_and_label_fields_are_kept_apart() -> None:
    history = History(index="cases", questions={"c": QuestionScope(label_field="queue")})
    state = {"one": "a text", "two": "another"}
    told = [(noul(name, f"Is `{name}` it?"), NoulAnswer(0.6), local()) for name in ("one", "two")]
    told.append((noul("c", "Is `one` it?"), NoulAnswer(0.9), local()))
    kept = lessons(*told, state=state, history=history)
    assert [(one.answer.text, one.answer.label_field) for one in kept] == [
        ("a text", "label"),
        ("another", "label"),
        ("a text", "queue"),
    ]
    assert len({one.answer.id for one in kept}) == 3


SCORE = ScoreQuestion(QuestionId("s"), "How?", ("calm", "furious"))
SIDES = noul("q", "Is `left` better than `right`?")
NOT_KEPT: dict[str, tuple[tuple[Any, Answer, Evidence], Any, History | None]] = {
    "history": ((noul(), NoulAnswer(0.9), local(tier=Tier.HISTORY, source="history")), "a", HISTORY),
    "score": ((SCORE, ScoreAnswer(0.2, 0.6, SCORE.levels, [0.8, 0.2]), local()), "a", HISTORY),
    "comparative": ((SIDES, NoulAnswer(0.9), local()), {"left": "a", "right": "b"}, HISTORY),
    "cut-premise": ((noul(), NoulAnswer(0.9), local(premise_cut=PremiseCut(9, 20))), "a", HISTORY),
    "write-back-off": ((noul(), NoulAnswer(0.9), local()), "a", History(index="cases", write_back=False)),
    "pattern": ((noul(), NoulAnswer(0.9), local()), "a", History(index="cases-*")),
    "list": ((noul(), NoulAnswer(0.9), local()), "a", History(index="cases,more")),
    "remote": ((noul(), NoulAnswer(0.9), local()), "a", History(index="far:cases")),
    "no-history": ((noul(), NoulAnswer(0.9), local()), "a", None),
    "label-in-human": ((noul(), NoulAnswer(0.9), local()), "a", History(index="cases", label_field="human")),
}


@pytest.mark.parametrize("name", NOT_KEPT)
def test_not_kept(name: str) -> None:
    told, state, history = NOT_KEPT[name]
    assert lessons(told, state=state, history=history) == ()


def test_one_index_may_be_written_and_a_pattern_may_not() -> None:
    assert may_write(HISTORY)
    assert not may_write(History(index="cases-?"))
    assert not may_write(History(index="cases", write_back=False))


def test_an_audit_answer_is_kept_where_it_was_asked() -> None:
    decision = Decision(
        index="cases",
        k=10,
        positive_label="spam",
        label="not spam",
        confidence=0.8123456,
        abstain=False,
        tier=Tier.LOCAL,
        source="local",
        neighbours=(),
        found=0,
        voted=0,
        unusable=0,
        p_raw=None,
        calibration={},
        took_ms=0,
    )
    scope = Scope(IndexName("cases"), "text", "queue")
    zone = timezone(timedelta(hours=2))
    kept = audit_lesson("a text", decision, scope, HISTORY, Identity("Basic x"), create=False, now=NOW.astimezone(zone))
    assert kept.answer == cached(
        label="not spam", p=0.812346, ts="2026-03-04T05:06:07.891Z", label_field="queue", history_label="label"
    )
    assert (kept.identity, kept.create, kept.negative_of) == (Identity("Basic x"), False, None)


# The label of a "no"


class Labels:
    """A label source that only lists the labels of documents without `source`."""

    def __init__(self, seeded: frozenset[str] | Exception | None) -> None:
        self._seeded = seeded

    async def seeded_labels(self, scope: Scope, identity: Identity) -> frozenset[str] | None:
        assert (scope.index, identity) == ("cases", OWN)
        if isinstance(self._seeded, Exception):
            raise self._seeded
        return self._seeded

    async def diagnose(self, scope: Scope, identity: Identity) -> None:
        raise AssertionError("not asked")

    async def knows_label(self, scope: Scope, label: str, identity: Identity) -> bool:
        raise AssertionError("not asked")

    async def labels(self, scope: Scope, identity: Identity) -> frozenset[str] | None:
        raise AssertionError("not asked")

    async def has_terms(self, scope: Scope, text: str, identity: Identity) -> bool:
        raise AssertionError("not asked")


NEGATIVES: list[tuple[frozenset[str] | Exception | None, str]] = [
    (frozenset({"spam", "ham"}), "ham"),
    (frozenset({"ham", "eggs"}), "not spam"),
    (frozenset({"spam"}), "not spam"),
    (frozenset({"spam", "ham", "eggs"}), "not spam"),
    (frozenset(), "not spam"),
    (None, "not spam"),
    (HistoryUnavailable("down"), "not spam"),
]


@pytest.mark.parametrize(("seeded", "expected"), NEGATIVES)
async def test_the_label_of_a_negative_noul(seeded: frozenset[str] | Exception | None, expected: str) -> None:
    scope = Scope(IndexName("cases"), "text", "label")
    assert await negative_label(Labels(seeded), scope, "spam", OWN) == expected


# The queue


class Writer:
    """Takes what it is given; refuses what a real writer would not be given."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[CachedAnswer], Identity, bool]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing: Exception | None = None
        self.outcome = Outcome.WRITTEN

    async def write(
        self, index: IndexName, answers: Sequence[CachedAnswer], identity: Identity, *, create: bool
    ) -> list[Outcome]:
        assert 0 < len(answers) <= BATCH_ENTRIES
        assert len({answer.id for answer in answers}) == len(answers)
        await self.gate.wait()
        self.calls.append((index, [*answers], identity, create))
        if self.failing is not None and index == "cases":
            raise self.failing
        return [self.outcome] * len(answers)

    @property
    def texts(self) -> list[str]:
        return [answer.text for _, answers, _, _ in self.calls for answer in answers]


def wheel(writer: Writer, seeded: frozenset[str] | None = None) -> tuple[Flywheel, Metrics]:
    metrics = Metrics()
    return Flywheel(writer, Labels(seeded), metrics.count_write_backs), metrics


async def test_what_is_offered_is_written_and_counted() -> None:
    writer = Writer()
    flywheel, metrics = wheel(writer, frozenset({"spam", "ham"}))
    flywheel.start()
    flywheel.offer([entry("one"), entry("two", negative_of="spam")])
    await flywheel.stop()
    assert writer.texts == ["one", "two"]
    assert [answer.label for answer in writer.calls[0][1]] == ["spam", "ham"]
    assert (flywheel.counts, flywheel.waiting) == ({"written": 2}, 0)
    assert b'sidecar_write_backs_total{outcome="written"} 2.0' in metrics.render()


async def test_a_batch_is_split_by_index_identity_and_right_to_create() -> None:
    writer = Writer()
    flywheel, _ = wheel(writer)
    ada = Identity("Basic ada")
    flywheel.offer(
        [
            entry("1"),
            entry("2", index="other"),
            entry("3", identity=ada),
            entry("4", create=False),
            entry("5"),
            entry("1", p=0.95),
        ]
    )
    flywheel.start()
    await flywheel.stop()
    assert [(index, [one.text for one in answers], *rest) for index, answers, *rest in writer.calls] == [
        ("cases", ["1", "5"], OWN, True),
        ("other", ["2"], OWN, True),
        ("cases", ["3"], ada, True),
        ("cases", ["4"], OWN, False),
    ]
    assert writer.calls[0][1][0].p == 0.95  # the later of two with one id
    assert flywheel.counts == {"written": 6}


async def test_a_long_queue_is_written_in_batches() -> None:
    writer = Writer()
    flywheel, _ = wheel(writer)
    flywheel.offer([entry(str(n)) for n in range(2 * BATCH_ENTRIES + 1)])
    flywheel.start()
    await flywheel.stop()
    assert [len(answers) for _, answers, _, _ in writer.calls] == [BATCH_ENTRIES, BATCH_ENTRIES, 1]


async def test_a_full_queue_drops_counts_and_tells_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(flywheel_module, "QUEUE_ENTRIES", 3)
    writer = Writer()
    flywheel, _ = wheel(writer)
    flywheel.offer([entry(str(n)) for n in range(8)])
    assert (flywheel.waiting, flywheel.counts) == (3, {"overflow": 5})
    flywheel.start()
    await flywheel.stop()
    assert writer.texts == ["0", "1", "2"]
    assert ["overflow" in record.getMessage() for record in caplog.records] == [True]


async def test_the_task_survives_and_one_bad_group_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    writer = Writer()
    writer.failing = ValueError("words of a document")
    flywheel, _ = wheel(writer)
    flywheel.start()
    with caplog.at_level(logging.WARNING):
        flywheel.offer([entry("one"), entry("two"), entry("three", index="other")])
        await asyncio.wait_for(flywheel._queue.join(), 10)
        writer.failing = None
        flywheel.offer([entry("four")])
        await flywheel.stop()
    assert flywheel.counts == {"failed": 2, "written": 2}
    assert "failed (ValueError)" in caplog.text
    assert "words of a document" not in caplog.text


async def test_a_drop_is_told_once_and_always_counted(caplog: pytest.LogCaptureFixture) -> None:
    writer = Writer()
    writer.outcome = Outcome.BLOCKED
    flywheel, _ = wheel(writer)
    flywheel.start()
    for n in range(3):
        flywheel.offer([entry(str(n))])
        await asyncio.wait_for(flywheel._queue.join(), 10)
    await flywheel.stop()
    assert flywheel.counts == {"blocked": 3}
    assert len(caplog.records) == 1


async def test_stop_is_bounded_and_counts_what_it_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flywheel_module, "FLUSH_S", 0.05)
    writer = Writer()
    writer.gate.clear()
    flywheel, _ = wheel(writer)
    flywheel.start()
    flywheel.offer([entry(str(n)) for n in range(BATCH_ENTRIES + 7)])
    await asyncio.wait_for(flywheel.stop(), 30)
    assert flywheel.counts == {"unflushed": BATCH_ENTRIES + 7}
    assert writer.calls == []


async def test_a_flywheel_that_never_started_stops() -> None:
    flywheel, _ = wheel(Writer())
    await flywheel.stop()
    assert flywheel.counts == {}
