"""Which server keys there are, and which key serves which use."""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_ENTRY = re.compile(r"([0-9a-z]{1,8}):((?:[0-9a-fA-F]{2}){32,64})", re.ASCII)
_BLOCK = 64


class Keys:
    """One list of keys: the first signs, all verify. Each use has a key of its own, made by HKDF with its label."""

    def __init__(self, secrets: Mapping[str, bytes], void: frozenset[str] = frozenset()) -> None:
        if not secrets:
            raise ValueError("at least one key is needed")
        self._secrets = dict(secrets)
        self.current = next(iter(self._secrets))
        self._macs: dict[tuple[str, str], tuple[Any, Any]] = {}
        self.void = void
        """Fingerprints of the keys that are not used for order tokens any more."""
        valid = [key_id for key_id in self._secrets if not void or self.fingerprint(key_id) not in void]
        self.order_keys = frozenset(valid)
        """The keys whose order tokens are accepted."""
        self.order_key = valid[0] if valid else self.current
        """The key that signs order tokens."""

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._secrets

    def __repr__(self) -> str:
        return f"Keys({', '.join(self._secrets)})"

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def fingerprint(self, key_id: str) -> str:
        """Tells keys apart, also where an id is used again; says nothing about the key."""
        return self.derived(key_id, "fingerprint")[:8].hex()

    def voiding(self, fingerprints: Iterable[str]) -> "Keys":
        """The same keys, of which these neither sign nor verify order tokens."""
        return Keys(self._secrets, frozenset(fingerprints))

    def with_first(self, key_id: str, secret: bytes) -> "Keys":
        """With one more key, which signs."""
        return Keys({key_id: secret, **self._secrets}, self.void)

    def with_last(self, key_id: str) -> "Keys":
        """With this key behind the others, where it only verifies."""
        others = {each: secret for each, secret in self._secrets.items() if each != key_id}
        return Keys({**others, key_id: self._secrets[key_id]}, self.void)

    def without(self, key_id: str) -> "Keys":
        return Keys({each: secret for each, secret in self._secrets.items() if each != key_id}, self.void)

    def to_text(self) -> str:
        """`id:hex,id:hex`, as `parse_keys` reads it."""
        return ",".join(f"{key_id}:{secret.hex()}" for key_id, secret in self._secrets.items())

    def derived(self, key_id: str, use: str) -> bytes:
        """The key for one use."""
        return HKDF(SHA256(), 32, salt=None, info=use.encode()).derive(self._secrets[key_id])

    def mac(self, key_id: str, use: str, message: bytes) -> bytes:
        """HMAC-SHA256 under the key for one use, from its two keyed states (RFC 2104): `hmac` would key them anew or
        copy more than them at every call, and every cart that is shown needs one.
        """
        keyed = self._macs.get((key_id, use))
        if keyed is None:
            block = self.derived(key_id, use).ljust(_BLOCK, b"\0")
            keyed = sha256(bytes(byte ^ 0x36 for byte in block)), sha256(bytes(byte ^ 0x5C for byte in block))
            self._macs[key_id, use] = keyed
        inner, outer = keyed[0].copy(), keyed[1].copy()
        inner.update(message)
        outer.update(inner.digest())
        digest: bytes = outer.digest()
        return digest

    def __getstate__(self) -> dict[str, bytes]:
        return self._secrets

    def __setstate__(self, secrets: dict[str, bytes]) -> None:
        self.__init__(secrets)  # type: ignore[misc]


def parse_keys(text: str) -> Keys:
    """`id:hex,id:hex`; raises ValueError with a sentence that names no key material."""
    secrets: dict[str, bytes] = {}
    for position, entry in enumerate(text.split(","), 1):
        match = _ENTRY.fullmatch(entry.strip())
        if match is None:
            raise ValueError(
                f"entry {position} is not `id:hex`, an id of 1 to 8 small letters or digits and 32 to 64 bytes in hex"
            )
        if match[1] in secrets:
            raise ValueError(f"the key id {match[1]} is there twice")
        secrets[match[1]] = bytes.fromhex(match[2])
    return Keys(secrets)
