"""Encrypts secrets that must be recovered, with a key that is not in the database, and binds them to their owner.

Format: key id, ":", nonce (12 bytes), AES-256-GCM ciphertext with its tag.
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shop.base.crypto.keys import Keys
from shop.base.crypto.secrets import new_bytes

_NONCE = 12


def encrypt_secret(keys: Keys, use: str, secret: bytes, owner: bytes) -> bytes:
    nonce = new_bytes(_NONCE)
    cipher = AESGCM(keys.derived(keys.current, use))
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
        return AESGCM(keys.derived(name, use)).decrypt(rest[:_NONCE], rest[_NONCE:], owner)
    except (InvalidTag, ValueError):
        return None
