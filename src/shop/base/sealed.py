"""How a secret that must be read again is kept: encrypted under a key outside the database, and bound to its owner.

key id, ":", nonce (12 bytes), AES-256-GCM of the secret with its tag
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shop.base.keys import Keys
from shop.base.secrets import new_bytes

_NONCE = 12


def seal(keys: Keys, use: str, secret: bytes, owner: bytes) -> bytes:
    nonce = new_bytes(_NONCE)
    box = AESGCM(keys.derived(keys.current, use))
    return keys.current.encode() + b":" + nonce + box.encrypt(nonce, secret, owner)


def key_of_seal(sealed: bytes) -> str:
    """The id of the key that sealed it."""
    return sealed.partition(b":")[0].decode("latin-1")


def unseal(keys: Keys, use: str, sealed: bytes, owner: bytes) -> bytes | None:
    """None when it is not this owner's, was changed, or its key is gone."""
    name, rest = key_of_seal(sealed), sealed.partition(b":")[2]
    if name not in keys:
        return None
    try:
        return AESGCM(keys.derived(name, use)).decrypt(rest[:_NONCE], rest[_NONCE:], owner)
    except (InvalidTag, ValueError):
        return None
