"""`GET /v1/models`: what can answer, truthfully."""

from __future__ import annotations

from collections.abc import Mapping

from sidecar.terms import HISTORY_MODEL, LOCAL_MODEL, JsonObject

RELEASE_DATE = "2026-11-01"
_FOREIGN = "jev"


def render_models(has_default_history: bool, histories: Mapping[str, str], local_armed: bool) -> JsonObject:
    """The vote always, each configured history by its name, the head when armed.

    histories  name to index; one whose name begins like a model of somebody else is not listed
    """
    state = (
        "a default history is configured"
        if has_default_history
        else "no default history is configured (decisions.index)"
    )
    described = {
        HISTORY_MODEL: f"vote over labelled history; {state}; any requested name is accepted, jev-latest is an alias"
    }
    for name, index in histories.items():
        if not name.casefold().startswith(_FOREIGN):
            described.setdefault(name, f"vote over the labelled history in {index}; select it by this name")
    if local_armed:
        described.setdefault(LOCAL_MODEL, "zero-shot entailment on this machine, where history is silent or split")
    return {
        "models": [
            {"name": name, "description": description, "release_date": RELEASE_DATE}
            for name, description in described.items()
        ]
    }
