"""The cluster behind the sidecar."""

from sidecar.node.cached_answer import CachedAnswer, can_hold
from sidecar.node.client import PRODUCT_HEADER, Identity, connect, own_identity, product_of
from sidecar.node.correct import Corrections, corrected, correction_id
from sidecar.node.history import HistoryReader, Retrieved, Search
from sidecar.node.labels import LabelReader
from sidecar.node.load import Case, Stored, history_mapping, prepare_index, refresh, store_cases
from sidecar.node.probe import NodeProbe
from sidecar.node.write_back import Outcome, WriteBack

__all__ = [
    "PRODUCT_HEADER",
    "CachedAnswer",
    "Case",
    "Corrections",
    "HistoryReader",
    "Identity",
    "LabelReader",
    "NodeProbe",
    "Outcome",
    "Retrieved",
    "Search",
    "Stored",
    "WriteBack",
    "can_hold",
    "connect",
    "corrected",
    "correction_id",
    "history_mapping",
    "own_identity",
    "prepare_index",
    "product_of",
    "refresh",
    "store_cases",
]
