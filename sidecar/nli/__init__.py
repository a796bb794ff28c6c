"""The local head: which label does a text entail."""

from sidecar.nli.questions import HeadAnswer, HeadQuestion

__all__ = ["HeadAnswer", "HeadQuestion"]
