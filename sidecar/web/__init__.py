"""The decision surfaces over HTTP: thin handlers between bytes and decisions."""

from sidecar.web.cors import CorsMirror
from sidecar.web.keys import hash_key
from sidecar.web.surface import Deciders, NodeView, Surface

__all__ = ["CorsMirror", "Deciders", "NodeView", "Surface", "hash_key"]
