"""One question of a System One request: its type, instructions and criteria."""

from __future__ import annotations

from sidecar.api.problems import Loc, Problems
from sidecar.api.wording import quoted
from sidecar.settings import Limits
from sidecar.terms import ChoiceQuestion, JsonValue, NoulQuestion, Question, QuestionId, ScoreQuestion

TEXT = "a string, an object or an array"
KNOWN_TYPES = "'noul', 'choice', 'score'"


def parse_question(name: str, value: JsonValue, limits: Limits, problems: Problems) -> Question | None:
    """The question, or None after its problems were noted.

    `loc` of a problem holds the question's type after its id, as the official schema's example does.
    """
    loc: Loc = ("body", "questions", name)
    if not name:
        problems.add(loc, "A question id should have at least 1 character", "string_too_short")
    if not isinstance(value, dict):
        problems.wrong(loc, "an object", value, "model_attributes_type")
        return None
    kind = value.get("type")
    if "type" not in value:
        problems.add(loc, f"A question needs a 'type': {KNOWN_TYPES}", "union_tag_not_found")
    elif kind == "noul":
        return _noul(name, value, problems, (*loc, "noul"))
    elif kind == "choice":
        return _choice(name, value, limits, problems, (*loc, "choice"))
    elif kind == "score":
        return _score(name, value, limits, problems, (*loc, "score"))
    elif kind == "box":
        msg = f"'box' questions are about images and this server reads text only; use one of {KNOWN_TYPES}"
        problems.add(loc, msg, "union_tag_invalid")
    elif isinstance(kind, str):
        problems.add(loc, f"Unknown type {quoted(kind)}; use one of {KNOWN_TYPES}", "union_tag_invalid")
    else:
        problems.wrong((*loc, "type"), f"one of {KNOWN_TYPES}", kind, "union_tag_invalid")
    return None


def _noul(name: str, value: dict[str, JsonValue], problems: Problems, loc: Loc) -> NoulQuestion:
    instructions = _instructions(value, problems, loc)
    criteria = value.get("criteria")
    outcomes: list[JsonValue] = []
    if isinstance(criteria, dict):
        for side in ("true", "false"):
            outcomes.append(criteria.get(side))
            _check_text(outcomes[-1], problems, (*loc, "criteria", side), or_null=True)
    elif criteria is not None:
        wanted = "an object with 'true' and/or 'false'"
        problems.wrong((*loc, "criteria"), wanted, criteria, "model_attributes_type")
        return NoulQuestion(QuestionId(name), instructions)
    # As the official client checks it: an outcome without a description says nothing.
    if instructions is None and all(outcome is None for outcome in outcomes):
        problems.add(loc, "A noul needs 'instructions' or 'criteria'; it has neither", "missing")
    return NoulQuestion(QuestionId(name), instructions)


def _choice(
    name: str, value: dict[str, JsonValue], limits: Limits, problems: Problems, loc: Loc
) -> ChoiceQuestion | None:
    instructions = _instructions(value, problems, loc)
    criteria, loc = value.get("criteria"), (*loc, "criteria")
    if "criteria" not in value:
        problems.missing(loc)
    elif not isinstance(criteria, dict):
        problems.wrong(loc, "an object: option name to description", criteria, "dict_type")
    elif _has_fair_size(len(criteria), limits.options, "options", problems, loc):
        for option, description in criteria.items():
            _check_text(description, problems, (*loc, option), or_null=True)
        return ChoiceQuestion(QuestionId(name), instructions, tuple(criteria))
    return None


def _score(
    name: str, value: dict[str, JsonValue], limits: Limits, problems: Problems, loc: Loc
) -> ScoreQuestion | None:
    instructions = _instructions(value, problems, loc)
    criteria, loc = value.get("criteria"), (*loc, "criteria")
    if "criteria" not in value:
        problems.missing(loc)
    elif not isinstance(criteria, list):
        problems.wrong(loc, "an ordered array of level descriptions", criteria, "list_type")
    elif _has_fair_size(len(criteria), limits.levels, "levels", problems, loc):
        for number, level in enumerate(criteria):
            _check_text(level, problems, (*loc, number))
        return ScoreQuestion(QuestionId(name), instructions, tuple(criteria))
    return None


def _instructions(value: dict[str, JsonValue], problems: Problems, loc: Loc) -> JsonValue:
    instructions = value.get("instructions")
    _check_text(instructions, problems, (*loc, "instructions"), or_null=True)
    return instructions


def _check_text(value: JsonValue, problems: Problems, loc: Loc, *, or_null: bool = False) -> None:
    if not (isinstance(value, str | dict | list) or (or_null and value is None)):
        problems.wrong(loc, f"{TEXT}, or null" if or_null else TEXT, value, "union_type")


def _has_fair_size(size: int, most: int, what: str, problems: Problems, loc: Loc) -> bool:
    if size == 0:
        problems.add(loc, f"At least 1 of {what} is needed, got 0", "too_short")
    elif size > most:
        problems.add(loc, f"At most {most} {what} are allowed (limits.{what}), got {size}", "too_long")
    return 0 < size <= most
