"""Sidecar keys: who may use the System One surfaces."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from sidecar.errors import KeyRefused


def check_key(authorization: str | None, keys: Mapping[str, str]) -> str | None:
    """The name of the key that a request carries; None where no keys are configured and any value is accepted.

    keys    name → SHA-256 of the key, in hex. A plain hash is enough: keys are 32 random bytes, not passwords
    Raises  KeyRefused; every key is compared, in constant time, so that time tells nothing
    """
    if not keys:
        return None
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise KeyRefused("a sidecar key is needed: Authorization: Bearer KEY")
    digest = hash_key(token.strip())
    matching = [name for name, known in keys.items() if hmac.compare_digest(digest, known.lower())]
    if not matching:
        raise KeyRefused("this sidecar key is not known; keys are listed under [auth]")
    return matching[0]


def hash_key(key: str) -> str:
    """What the settings keep of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
