"""Encrypts a short text with a passphrase: scrypt derives the key, and AES-256-GCM encrypts and authenticates."""

import secrets
from hashlib import scrypt
from typing import TYPE_CHECKING

import msgspec

from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives.ciphers import aead
else:
    exceptions = LazyModule("cryptography.exceptions")
    aead = LazyModule("cryptography.hazmat.primitives.ciphers.aead")

_COST, _BLOCK_SIZE, _PARALLELISM = 2**17, 8, 1
"""128 MiB and a good part of a second for each guess."""
_MAX_COST, _MEMORY = 2**20, 2**31 - 2
_LABEL = b"shop sealed text 1"


class SealedText(msgspec.Struct, frozen=True, kw_only=True):
    """The encrypted text with what decryption needs, except the passphrase."""

    cost: int
    salt: bytes
    nonce: bytes
    data: bytes


def seal(text: str, passphrase: str) -> bytes:
    """Returns the encrypted text as JSON."""
    salt, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
    data = aead.AESGCM(_derive(passphrase, salt, _COST)).encrypt(nonce, text.encode(), _LABEL)
    return msgspec.json.encode(SealedText(cost=_COST, salt=salt, nonce=nonce, data=data)) + b"\n"


def unseal(document: bytes, passphrase: str) -> str:
    """Returns the text; raises ValueError if the passphrase is wrong or the document was changed."""
    try:
        sealed_text = msgspec.json.decode(document, type=SealedText)
        if not 2 <= sealed_text.cost <= _MAX_COST:
            raise ValueError("unexpected cost")
        cipher = aead.AESGCM(_derive(passphrase, sealed_text.salt, sealed_text.cost))
        return cipher.decrypt(sealed_text.nonce, sealed_text.data, _LABEL).decode()
    except (exceptions.InvalidTag, ValueError, msgspec.MsgspecError):
        raise ValueError("the passphrase is wrong, or the file was changed") from None


def _derive(passphrase: str, salt: bytes, cost: int) -> bytes:
    return scrypt(passphrase.encode(), salt=salt, n=cost, r=_BLOCK_SIZE, p=_PARALLELISM, maxmem=_MEMORY, dklen=32)
