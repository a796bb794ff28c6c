"""A transparent port in front of Elasticsearch or OpenSearch that also decides by your own history."""

__version__ = "0.1.0"
