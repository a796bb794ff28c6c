"""The transparent port: everything that is not ours goes to the node as it came."""

from sidecar.proxy.forward import Forwarder

__all__ = ["Forwarder"]
