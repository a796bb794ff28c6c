"""Builds `docs/openapi.json` from the code: `python tests/node/openapi_document.py` writes it anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

from sidecar.api.decide import MAX_K, MIN_K
from sidecar.api.errors import REASON_PROBLEMS
from sidecar.api.index_name import MAX_BYTES
from sidecar.settings import Limits
from sidecar.terms import HISTORY_MODEL, LOCAL_MODEL

Json: TypeAlias = "dict[str, Any]"

PATH = Path(__file__).parents[2] / "docs" / "openapi.json"
LIMITS = Limits()

ERROR_TYPES: dict[int, tuple[str, ...]] = {
    401: ("authentication_error", "security_exception"),
    403: ("authentication_error", "security_exception"),
    404: ("not_found",),
    405: ("method_not_allowed",),
    415: ("unsupported_media_type",),
    422: ("illegal_argument", "max_tokens_exceeded", "no_support", "history_index_error"),
    429: ("too_many_requests",),
    500: ("internal_error",),
    503: ("not_configured", "local_decide_unavailable", "history_unavailable"),
    504: ("history_unavailable",),
}
"""`detail.error_type` of each status; `error.type` is the same word but for the node's own one of a long request."""

_SAID = {
    401: "The sidecar key is missing or wrong, or the node refused the credentials.",
    403: "The node refused the credentials, or the key is not meant for this history.",
    404: "Nothing is served here, or no history has this name.",
    405: "The path is served, but not with this method.",
    415: "A media type, content coding or asset that is not read here.",
    422: "The request cannot be read, or cannot be answered from this history.",
    429: "Too many decisions in flight, here or on the node.",
    500: "A fault of the sidecar; its log has it under the request id.",
    503: "No history is configured, or the node or the local model cannot answer.",
    504: "No decision within limits.deadline_s.",
}
_EXTRA_HEADERS = {401: ("WWW-Authenticate",), 405: ("Allow",), 429: ("Retry-After", "retry-after-ms")}
_EXTRA_HEADERS |= {503: _EXTRA_HEADERS[429], 504: _EXTRA_HEADERS[429]}

# Unicode capitals beyond ASCII and names above 255 bytes are refused too; a regular expression cannot say either.
_NOT_IN_NAMES = r"\\/*?\"<>| ,#:A-Z\x00-\x1f\x7f-\x9f"
INDEX_PATTERN = rf"^(?!\.{{1,2}}$)[^\-_+{_NOT_IN_NAMES}][^{_NOT_IN_NAMES}]*$"
NOT_BLANK = r"[^\s\x1c-\x1f\x85]"

TEXT: Json = {"type": ["string", "object", "array"]}
TEXT_OR_NULL: Json = {"type": ["string", "object", "array", "null"]}
SHARE: Json = {"type": "number", "minimum": 0, "maximum": 1}
SHARE_OR_NULL: Json = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
COUNT: Json = {"type": "integer", "minimum": 0}
STRING: Json = {"type": "string"}
STRING_OR_NULL: Json = {"type": ["string", "null"]}
FLAG: Json = {"const": True}
STRINGS: Json = {"type": "array", "items": STRING}


def ref(name: str) -> Json:
    """A reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(required: Json, optional: Json | None = None, *, closed: bool = True) -> Json:
    """An object with these members."""
    body: Json = {"type": "object", "required": [*required], "properties": required | (optional or {})}
    return body | {"additionalProperties": False} if closed else body


def _question(kind: str, criteria: Json) -> Json:
    members = {"type": {"const": kind}, "criteria": criteria}
    return record(members, {"instructions": TEXT_OR_NULL}, closed=False)


def _noul() -> Json:
    sides = {"true": TEXT_OR_NULL, "false": TEXT_OR_NULL}
    criteria = {"type": ["object", "null"], "properties": sides}
    described = [{"required": [side], "properties": {side: TEXT}} for side in sides]
    return record({"type": {"const": "noul"}}, {"instructions": TEXT_OR_NULL, "criteria": criteria}, closed=False) | {
        "description": "How probable is yes. Needs instructions, or criteria with at least one described side.",
        "anyOf": [
            {"required": ["instructions"], "properties": {"instructions": TEXT}},
            {"required": ["criteria"], "properties": {"criteria": {"type": "object", "anyOf": described}}},
        ],
    }


def _marks() -> Json:
    escalation = record(
        {"from_support": SHARE, "outcome": {"enum": ["answered", "kept_by_guard", "unavailable"]}}, closed=True
    )
    marks = dict.fromkeys(("truncated", "terms_cut", "ties_cut", "lookup_cut", "corrected"), FLAG)
    return marks | {"corrected_by": STRING, "escalation": escalation}


def _evidence() -> Json:
    counts = dict.fromkeys(("found", "voted", "unusable"), COUNT)
    short = record({"id": STRING, "label": STRING, "weight": {"type": "number"}})
    listed: Json = {"type": "array", "items": short}
    side = record({"share": SHARE, "label": STRING_OR_NULL, **counts}, {"neighbours": listed})
    return record(
        {
            "tier": {"enum": ["history", "local"]},
            "source": STRING,
            "label": STRING_OR_NULL,
            "support": SHARE_OR_NULL,
            **counts,
        },
        {
            "references": record(dict.fromkeys(("used", "skipped", "ignored"), STRINGS)),
            **_marks(),
            **dict.fromkeys(("p_raw", "p_cal", "confidence_cal"), SHARE_OR_NULL),
            "calibration": {"type": "object"},
            "model": STRING,
            "hypotheses": STRINGS,
            "premise_cut": record({"used": COUNT, "given": COUNT}),
            "comparative": record({"first": side, "second": side}),
            "neighbours": listed,
        },
    )


def _systemone_schemas() -> Json:
    choice_criteria = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": LIMITS.options,
        "additionalProperties": TEXT_OR_NULL,
    }
    score_criteria = {"type": "array", "minItems": 1, "maxItems": LIMITS.levels, "items": TEXT}
    kinds = {"noul": "NoulQuestion", "choice": "ChoiceQuestion", "score": "ScoreQuestion"}
    shares = {"type": "object", "additionalProperties": SHARE, "minProperties": 1}
    numbered = {"propertyNames": {"pattern": "^[0-9]+$"}}
    return {
        "SystemOneRequest": record(
            {
                "state": TEXT | {"description": "What is decided on; no text in it at all is refused."},
                "questions": {
                    "type": "object",
                    "description": "Question id to question. An id never influences its answer.",
                    "minProperties": 1,
                    "maxProperties": LIMITS.questions,
                    "propertyNames": {"minLength": 1},
                    "additionalProperties": ref("Question"),
                },
            },
            {
                "model": STRING | {"description": "A configured history's name, or anything: jev-latest is accepted."},
                "assets": {
                    "description": "Images are not read: anything but an empty value is refused.",
                    "enum": [None, {}, [], "", 0, False],
                },
                "x_evidence": {"description": "`full` adds the neighbours to each question's evidence."},
            },
            closed=False,
        )
        | {"description": "Unknown members are ignored at every level."},
        "Question": {
            "oneOf": [ref(name) for name in kinds.values()],
            "discriminator": {
                "propertyName": "type",
                "mapping": {kind: ref(name)["$ref"] for kind, name in kinds.items()},
            },
        },
        "NoulQuestion": _noul(),
        "ChoiceQuestion": _question("choice", choice_criteria),
        "ScoreQuestion": _question("score", score_criteria),
        "SystemOneAnswer": record(
            {
                "model": {"enum": [HISTORY_MODEL, LOCAL_MODEL]},
                "answers": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {
                        "oneOf": [ref("NoulAnswer"), ref("ChoiceAnswer"), ref("ScoreAnswer")],
                    },
                },
                "usage": record({"input_tokens": COUNT, "output_tokens": COUNT}),
                "decisions": ref("Decisions"),
            }
        ),
        "NoulAnswer": record({"type": {"const": "noul"}, "noul": SHARE}),
        "ChoiceAnswer": record(
            {"type": {"const": "choice"}, "choice": STRING, "confidence": SHARE, "probabilities": shares}
        ),
        "ScoreAnswer": record(
            {
                "type": {"const": "score"},
                "score": {"type": "number", "minimum": 0, "maximum": LIMITS.levels - 1},
                "confidence": SHARE,
                "legend": {"type": "object", "additionalProperties": TEXT} | numbered,
                "probabilities": shares | numbered,
            }
        ),
        "Decisions": record(
            {
                "index": STRING_OR_NULL,
                "k": {"type": ["integer", "null"], "minimum": MIN_K, "maximum": MAX_K},
                "requested_model": STRING,
                "took_ms": COUNT,
                "calibration": {"type": "object"},
                "evidence": {"type": "object", "minProperties": 1, "additionalProperties": ref("Evidence")},
            },
            {"local_model": {"const": LOCAL_MODEL}, "local_answered": COUNT},
        ),
        "Evidence": _evidence(),
        "Models": record(
            {
                "models": {
                    "type": "array",
                    "minItems": 1,
                    "items": record(
                        {
                            "name": STRING,
                            "description": STRING,
                            "release_date": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
                        }
                    ),
                }
            }
        ),
    }


def _decide_schemas() -> Json:
    name: Json = {"type": "string", "pattern": NOT_BLANK}
    index: Json = {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_BYTES,
        "pattern": INDEX_PATTERN,
        "description": "One literal index or alias, lower case; required unless the local model is armed.",
    }
    neighbour = record(
        {
            "_id": STRING,
            "_index": STRING,
            "label": STRING,
            "_score": {"type": "number"},
            "weight": {"type": "number", "exclusiveMinimum": 0},
            "human": {"type": "boolean"},
            "ts": STRING_OR_NULL,
            "text": STRING_OR_NULL,
        },
        {"source": STRING},
    )
    return {
        "DecideRequest": record(
            {"question": name | {"description": "The text to decide on."}},
            {
                "index": index,
                "k": {
                    "type": "integer",
                    "description": f"Neighbours that vote; clamped to {MIN_K}..{MAX_K}. Written without decimals.",
                },
                "positive_label": name,
                "label_field": name,
                "text_field": name,
                "create": {"type": "boolean", "description": "Let a local answer make the index."},
            },
        ),
        "Decision": record(
            {
                "index": STRING_OR_NULL,
                "k": {"type": "integer", "minimum": MIN_K, "maximum": MAX_K},
                "positive_label": STRING,
                "label": STRING_OR_NULL,
                "confidence": SHARE,
                "abstain": {"type": "boolean"},
                "tier": {"enum": ["history", "local", None]},
                "source": STRING_OR_NULL,
                "neighbours": {"type": "array", "maxItems": MAX_K, "items": neighbour},
                "found": COUNT,
                "voted": COUNT,
                "unusable": COUNT,
                "p_raw": SHARE_OR_NULL,
                "calibration": {"type": "object"},
                "took_ms": COUNT,
            },
            {
                "reason": STRING,
                "confidence_cal": SHARE_OR_NULL,
                "p_cal": SHARE_OR_NULL,
                "model": {"const": LOCAL_MODEL},
                "positive_known": {"const": False},
                "premise_cut": record({"used": COUNT, "given": COUNT}),
                **_marks(),
            },
        ),
        "Status": {
            "type": "object",
            "description": "What is live. Members may be added; there is no secret among them.",
            "required": ["version", "upstream", "histories", "tiers", "flywheel", "fits", "sidecar_keys"],
            "properties": {
                "version": STRING,
                "upstream": record({"url": STRING, "identity": STRING}, closed=False),
                "histories": {"type": "object", "additionalProperties": {"type": "object"}},
                "tiers": {"type": "object", "required": ["history", "local"]},
                "flywheel": record(
                    {"waiting": COUNT, "outcomes": {"type": "object", "additionalProperties": COUNT}},
                    closed=False,
                ),
                "fits": {"type": "array"},
                "sidecar_keys": STRINGS,
            },
        },
    }


def _error_schema(status: int) -> Json:
    types = ERROR_TYPES[status]
    es_types = [{"max_tokens_exceeded": "payload_too_large_exception"}.get(kind, kind) for kind in types]
    cause = {"type": {"enum": es_types}, "reason": STRING}
    error = record({"root_cause": {"type": "array", "minItems": 1, "maxItems": 1, "items": record(cause)}, **cause})
    detail = record({"error_type": {"enum": [*types]}, "message": STRING}, closed=status != 422)
    if status == 422:
        sizes = {"limit": COUNT, "actual": COUNT, "questions": STRINGS}
        plain = [kind for kind in types if kind != "max_tokens_exceeded"]
        detail = {
            "oneOf": [
                record({"error_type": {"enum": plain}, "message": STRING}),
                record({"error_type": {"const": "max_tokens_exceeded"}, "message": STRING, **sizes}),
                {"type": "array", "minItems": 1, "items": ref("Problem")},
            ]
        }
    return record({"error": error, "status": {"const": status}, "detail": detail})


def _error_schemas() -> Json:
    loc = {"type": "array", "minItems": 1, "items": {"type": ["string", "integer"]}}
    problem = record({"loc": loc, "msg": STRING, "type": STRING})
    problem["description"] = f"One violation of the schema; `error.reason` spells out the first {REASON_PROBLEMS}."
    return {"Problem": problem} | {f"Error{status}": _error_schema(status) for status in ERROR_TYPES}


def _headers(*names: str) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("x-typesafe-request-id", *names)}


def _content(schema: Json, example: object = None, media: str = "application/json") -> Json:
    return {media: {"schema": schema} | ({} if example is None else {"example": example})}


def _operation(id_: str, summary: str, ok: Json, *errors: int, body: Json | None = None, key: bool = False) -> Json:
    operation: Json = {"operationId": id_, "summary": summary}
    if key:
        operation["security"] = [{}, {"sidecarKey": []}]
    if body is not None:
        operation["requestBody"] = {"required": True, "content": body}
    answers = {"200": {"description": "The answer.", "headers": _headers(), "content": ok}}
    for status in sorted({*errors, 405, 500}):
        answers[str(status)] = {"$ref": f"#/components/responses/Error{status}"}
    return operation | {"responses": answers}


def _get_and_head(id_: str, summary: str, ok: Json, *errors: int, key: bool = False) -> Json:
    get = _operation(id_, summary, ok, *errors, key=key)
    head = _operation(f"{id_}Head", f"{summary} Headers only.", ok, *errors, key=key)
    head["responses"] = {
        status: {"description": "Headers only.", "headers": _headers(*_EXTRA_HEADERS.get(int(status), ()))}
        for status in head["responses"]
    }
    return {"get": get, "head": head}


SYSTEMONE_EXAMPLE: Json = {
    "model": "jev-latest",
    "state": {"ticket": {"body": "I was charged twice for one invoice, please refund me"}},
    "questions": {
        "queue": {
            "type": "choice",
            "instructions": "Which queue takes `ticket.body`?",
            "criteria": {"billing": "money", "shipping": None},
        },
        "is it billing?": {"type": "noul", "instructions": "Is `ticket.body` about money?"},
    },
}
DECIDE_EXAMPLE: Json = {"index": "tickets", "question": "I was charged twice for one invoice"}


def _systemone(id_: str, summary: str, *more: int) -> Json:
    body = _content(ref("SystemOneRequest"), SYSTEMONE_EXAMPLE)
    errors = (401, 403, 415, 422, 429, 503, 504, *more)
    return {"post": _operation(id_, summary, _content(ref("SystemOneAnswer")), *errors, body=body, key=True)}


def _paths() -> Json:
    es_port = [{"url": "http://127.0.0.1:9201", "description": "ES port"}]
    both = [*es_port, {"url": "http://127.0.0.1:9202", "description": "native port"}]
    name = {
        "name": "name",
        "in": "path",
        "required": True,
        "description": "A configured history.",
        "schema": {"type": "string", "minLength": 1, "maxLength": MAX_BYTES, "pattern": INDEX_PATTERN},
    }
    models, decide = _content(ref("Models")), _content(ref("DecideRequest"), DECIDE_EXAMPLE)
    status = record({"status": STRING})
    ready = _get_and_head("ready", "Whether the node behind answers.", _content(status))
    ready["get"]["responses"]["503"] = ready["get"]["responses"]["200"] | {"description": "The node does not answer."}
    ready["head"]["responses"]["503"] = ready["head"]["responses"]["200"]
    metrics = _content(STRING, media="text/plain")
    audit = _operation(
        "decide",
        "Decide one text by an index, with the neighbours that voted.",
        _content(ref("Decision")),
        *(401, 403, 415, 422, 429, 503, 504),
        body=decide,
    )
    return {
        "/_decide": {"servers": es_port, "post": audit},
        "/_decide/_status": {"servers": es_port}
        | _get_and_head("status", "What is live; no secrets.", _content(ref("Status"))),
        "/v1/systemone": {"servers": both} | _systemone("systemone", "Typed questions over a state."),
        "/v1/models": {"servers": both} | _get_and_head("models", "What can answer.", models, 401, key=True),
        "/histories/{name}/v1/systemone": {"parameters": [name]}
        | _systemone("historySystemone", "Typed questions, answered from one history.", 404),
        "/histories/{name}/v1/models": {"parameters": [name]}
        | _get_and_head("historyModels", "What can answer.", models, 401, 404, key=True),
        "/metrics": _get_and_head("metrics", "Prometheus series.", metrics),
        "/health/live": _get_and_head("live", "Whether the sidecar runs.", _content(status)),
        "/health/ready": ready,
    }


def build() -> Json:
    """The whole document."""
    headers = {
        "x-typesafe-request-id": (True, {"type": "string", "pattern": "^req_[0-9a-f]{32}$"}),
        "Retry-After": (True, {"type": "integer", "minimum": 0}),
        "retry-after-ms": (True, {"type": "integer", "minimum": 0}),
        "WWW-Authenticate": (False, STRING),
        "Allow": (True, STRING),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Decision sidecar",
            "version": "1",
            "summary": "The sidecar's own paths. Every other path of the ES port is the node's.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "http://127.0.0.1:9202", "description": "native port"}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"sidecarKey": {"type": "http", "scheme": "bearer", "description": "With [auth] keys."}},
            "headers": {name: {"required": must, "schema": schema} for name, (must, schema) in headers.items()},
            "schemas": _systemone_schemas() | _decide_schemas() | _error_schemas(),
            "responses": {
                f"Error{status}": {
                    "description": _SAID[status],
                    "headers": _headers(*_EXTRA_HEADERS.get(status, ())),
                    "content": _content(ref(f"Error{status}")),
                }
                for status in ERROR_TYPES
            },
        },
    }


def render() -> str:
    """The document as it is kept."""
    return json.dumps(build(), indent=1) + "\n"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
