"""HTTP/1.1 as values: which requests are ours. No sockets, no decisions."""

from sidecar.http1.route import Endpoint, Route, origin_form, route_es_port, route_native_port

__all__ = ["Endpoint", "Route", "origin_form", "route_es_port", "route_native_port"]
