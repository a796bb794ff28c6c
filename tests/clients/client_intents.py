"""A history of requests of a space physicist, each with many fields decided, and a scope for every question."""

from __future__ import annotations

from typing import Any

from client_sidecar import INTENT

NOULS = (
    "wants_value",
    "wants_figure",
    "wants_catalogue",
    "wants_procedure",
    "event_named",
    "uncertainty_required",
    "method_named",
    "two_spacecraft",
)
CHOICES = ("quantity", "frame", "year", "month", "day")
INTENT_SETTINGS = f'[decisions]\nindex = "{INTENT}"\n' + "".join(
    f'[decisions.questions.{name}]\nlabel_field = "{name}"\n' for name in (*NOULS, *CHOICES)
)
KINDS = (
    ("Plot the magnetic field magnitude seen by Wind", "wants_figure", "MagneticField", "GSE"),
    ("What was the plasma density measured by ACE", "wants_value", "ThermalPlasma", "GSM"),
    (
        "List the intervals with energetic particle flux at Solar Orbiter",
        "wants_catalogue",
        "EnergeticParticles",
        "RTN",
    ),
)
ASKED = "Plot the magnetic field magnitude seen by Wind on 12 March 2003, please"


def intent_cases() -> list[dict[str, Any]]:
    """Requests with every field decided; the words of a request tell its kind, its date and its frame."""
    months = ("January", "February", "March", "April")
    return [
        {"text": f"{text} on {10 + n} {months[n % 4]} {2001 + n % 4}", "quantity": quantity, "frame": frame}
        | {"year": str(2001 + n % 4), "month": f"{1 + n % 4:02d}", "day": str(10 + n)}
        | {name: "true" if name in (kind, "event_named") else "false" for name in NOULS}
        | ({"two_spacecraft": "true", "uncertainty_required": "true"} if n % 2 else {"method_named": "true"})
        for text, kind, quantity, frame in KINDS
        for n in range(12)
    ] + [
        {"text": "Write a script that computes the spectrum", "quantity": "none", "frame": "none", "year": "none"}
        | {"month": "none", "day": "none"}
        | dict.fromkeys(NOULS, "false")
        | {"wants_procedure": "true"}
    ]
