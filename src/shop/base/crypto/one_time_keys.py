"""Encrypts a text with a key of its own: who deletes the key deletes the text."""

import secrets
from typing import TYPE_CHECKING

from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives.ciphers import aead
else:
    exceptions = LazyModule("cryptography.exceptions")
    aead = LazyModule("cryptography.hazmat.primitives.ciphers.aead")


# A key encrypts one text, so that the nonce needs no randomness.
_NONCE = bytes(12)


def encrypt(data: bytes, label: bytes) -> tuple[bytes, bytes]:
    """Returns a new key and the encrypted data, which only this key and label can decrypt."""
    key = secrets.token_bytes(32)
    return key, aead.AESGCM(key).encrypt(_NONCE, data, label)


def decrypt(key: bytes, data: bytes, label: bytes) -> bytes:
    """Raises ValueError if the data was changed, or belongs to another key or label."""
    try:
        return aead.AESGCM(key).decrypt(_NONCE, data, label)
    except exceptions.InvalidTag:
        raise ValueError("the data does not match its key") from None
