"""The System One surface: `POST /v1/systemone` in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sidecar.api.numbers import rounded, share
from sidecar.api.problems import Problems
from sidecar.api.questions import TEXT, parse_question
from sidecar.errors import UnsupportedMedia
from sidecar.settings import Limits
from sidecar.terms import JsonObject, JsonValue, Question, QuestionId


@dataclass(frozen=True, slots=True)
class SystemOneRequest:
    """A checked request. `model` is what the caller asked for, "" when absent."""

    model: str
    state: JsonValue
    questions: tuple[Question, ...]
    full_evidence: bool


@dataclass(frozen=True, slots=True)
class NoulAnswer:
    """How probable is yes."""

    noul: float


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """The arg-max of `probabilities`, which name every option in the caller's order."""

    choice: str
    confidence: float
    probabilities: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """The expected level; `legend` holds the level descriptions, unchanged."""

    score: float
    confidence: float
    legend: tuple[JsonValue, ...]
    probabilities: Sequence[float]


Answer: TypeAlias = NoulAnswer | ChoiceAnswer | ScoreAnswer


def parse_systemone(value: JsonValue, limits: Limits) -> SystemOneRequest:
    """Check a parsed body; unknown members are ignored at every level.

    Raises  SchemaViolation with all problems, UnsupportedMedia when there are assets
    """
    problems = Problems()
    if not isinstance(value, dict):
        problems.wrong(("body",), "an object", value, "model_attributes_type")
        problems.raise_any()
    assert isinstance(value, dict)
    if value.get("assets"):
        raise UnsupportedMedia("assets are not read, this server answers text only; send the request without them")
    model, state = value.get("model", ""), value.get("state")
    if not isinstance(model, str):
        problems.wrong(("body", "model"), "a string", model, "string_type")
    if "state" not in value:
        problems.missing(("body", "state"))
    elif not isinstance(state, str | dict | list):
        problems.wrong(("body", "state"), TEXT, state, "union_type")
    questions = _parse_questions(value, limits, problems)
    problems.raise_any()
    return SystemOneRequest(str(model), state, questions, value.get("x_evidence") == "full")


def _parse_questions(value: JsonObject, limits: Limits, problems: Problems) -> tuple[Question, ...]:
    loc, questions = ("body", "questions"), value.get("questions")
    if "questions" not in value:
        problems.missing(loc)
    elif not isinstance(questions, dict):
        problems.wrong(loc, "an object: question id to question", questions, "dict_type")
    elif not questions:
        problems.add(loc, "At least 1 question is needed, got 0", "too_short")
    elif len(questions) > limits.questions:
        msg = f"At most {limits.questions} questions are allowed (limits.questions), got {len(questions)}"
        problems.add(loc, msg, "too_long")
    else:
        parsed = [parse_question(name, body, limits, problems) for name, body in questions.items()]
        return tuple(question for question in parsed if question is not None)
    return ()


def render_systemone(
    questions: Sequence[Question],
    answers: Mapping[QuestionId, Answer],
    *,
    model: str,
    input_tokens: int,
    output_tokens: int,
    decisions: JsonObject,
) -> JsonObject:
    """The body of a 200, answers in question order. Every question must have its answer: all or nothing."""
    return {
        "model": model,
        "answers": {question.id: _render_answer(answers[question.id]) for question in questions},
        "usage": {"input_tokens": int(input_tokens), "output_tokens": int(output_tokens)},
        "decisions": decisions,
    }


def _render_answer(answer: Answer) -> JsonValue:
    match answer:
        case NoulAnswer(noul):
            return {"type": "noul", "noul": share(noul)}
        case ChoiceAnswer(choice, confidence, probabilities):
            return {
                "type": "choice",
                "choice": choice,
                "confidence": share(confidence),
                "probabilities": {option: share(p) for option, p in probabilities.items()},
            }
        case ScoreAnswer(score, confidence, legend, levels):
            return {
                "type": "score",
                "score": rounded(score),
                "confidence": share(confidence),
                "legend": {str(number): level for number, level in enumerate(legend)},
                "probabilities": {str(number): share(p) for number, p in enumerate(levels)},
            }
