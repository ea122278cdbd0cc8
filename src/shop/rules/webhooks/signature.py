"""Signatures of webhooks, by Standard Webhooks 1.0.0.

secret               whsec_<base64 of 32 bytes>
webhook-id           the event's id, the same in every attempt
webhook-timestamp    the time of the attempt, in seconds since 1970
webhook-signature    v1,<base64 of HMAC-SHA256 over "{id}.{timestamp}.{body}">, once for each valid secret
"""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence

PREFIX = "whsec_"
KEY_BYTES = 32


def format_secret(key: bytes) -> str:
    """Returns the secret of an endpoint; the key is 32 random bytes."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    return PREFIX + b64encode(key).decode()


def read_secret(secret: str) -> bytes:
    """Returns the key of a secret; ValueError if the secret is malformed."""
    if not secret.startswith(PREFIX):
        raise ValueError(f"a secret begins with {PREFIX}")
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("a secret is base64") from None
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    return key


def signature_headers(secrets: Sequence[str], event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Returns the headers of an attempt; while a secret is rotated, both secrets sign."""
    if not secrets:
        raise ValueError("a webhook needs a secret")
    content = b"%s.%d.%s" % (event_id.encode(), timestamp, body)
    signatures = [b64encode(hmac.digest(read_secret(secret), content, "sha256")).decode() for secret in secrets]
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
