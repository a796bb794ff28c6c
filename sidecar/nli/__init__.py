"""The local head: which label does a text entail.

`sidecar.nli.loader.load_head` is imported by whoever arms the head; nothing here imports the model's library.
"""

from sidecar.nli.head import Head
from sidecar.nli.labels import entailment_row, hypothesis
from sidecar.nli.loader import check_model_dir, load_head
from sidecar.nli.questions import HeadAnswer, HeadQuestion

__all__ = ["Head", "HeadAnswer", "HeadQuestion", "check_model_dir", "entailment_row", "hypothesis", "load_head"]
