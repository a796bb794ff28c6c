"""Real OpenSearch and Elasticsearch nodes without containers: fetched once, started, stopped, never left behind."""

from sidecar.engine.distribution import DEFAULT, DISTRIBUTIONS, Distribution
from sidecar.engine.node import RunningNode, running_node
from sidecar.engine.ready import free_port

__all__ = ["DEFAULT", "DISTRIBUTIONS", "Distribution", "RunningNode", "free_port", "running_node"]
