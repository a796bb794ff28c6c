"""The cluster behind the sidecar."""

from sidecar.node.client import PRODUCT_HEADER, Identity, connect, own_identity, product_of
from sidecar.node.history import HistoryReader, Retrieved, Search
from sidecar.node.labels import LabelReader
from sidecar.node.load import Case, Stored, history_mapping, prepare_index, refresh, store_cases
from sidecar.node.probe import NodeProbe

__all__ = [
    "PRODUCT_HEADER",
    "Case",
    "HistoryReader",
    "Identity",
    "LabelReader",
    "NodeProbe",
    "Retrieved",
    "Search",
    "Stored",
    "connect",
    "history_mapping",
    "own_identity",
    "prepare_index",
    "product_of",
    "refresh",
    "store_cases",
]
