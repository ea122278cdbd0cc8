"""Encrypts secrets that must be recovered, with a key that is not in the database, and binds them to their owner.

Format: key id, ":", nonce (12 bytes), AES-256-GCM ciphertext with its tag.
"""

from typing import TYPE_CHECKING

from shop.base.crypto.keys import Keys
from shop.base.crypto.secrets import new_bytes
from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives.ciphers import aead
else:
    exceptions = LazyModule("cryptography.exceptions")
    aead = LazyModule("cryptography.hazmat.primitives.ciphers.aead")

_NONCE = 12


def encrypt_secret(keys: Keys, use: str, secret: bytes, owner: bytes) -> bytes:
    nonce = new_bytes(_NONCE)
    cipher = aead.AESGCM(keys.derived(keys.current, use))
    return keys.current.encode() + b":" + nonce + cipher.encrypt(nonce, secret, owner)


def sealing_key_id(ciphertext: bytes) -> str:
    """Returns the id of the key that encrypted a secret."""
    return ciphertext.partition(b":")[0].decode("latin-1")


def decrypt_secret(keys: Keys, use: str, ciphertext: bytes, owner: bytes) -> bytes | None:
    """Decrypts a secret; None if the owner differs, it was tampered with, or its key no longer exists."""
    name, rest = sealing_key_id(ciphertext), ciphertext.partition(b":")[2]
    if name not in keys:
        return None
    try:
        return aead.AESGCM(keys.derived(name, use)).decrypt(rest[:_NONCE], rest[_NONCE:], owner)
    except (exceptions.InvalidTag, ValueError):
        return None
