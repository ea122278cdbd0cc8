"""Server keys and the derivation of a key for each use."""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from hmac import digest
from typing import Any

_ENTRY = re.compile(r"([0-9a-z]{1,8}):((?:[0-9a-fA-F]{2}){32,64})", re.ASCII)
_BLOCK = 64


class Keys:
    """A list of keys: the first signs, all verify. Each use has its own key, derived by HKDF from its label."""

    def __init__(self, secrets: Mapping[str, bytes], void: frozenset[str] = frozenset()) -> None:
        if not secrets:
            raise ValueError("at least one key is required")
        self._secrets = dict(secrets)
        self.current = next(iter(self._secrets))
        self._macs: dict[tuple[str, str], tuple[Any, Any]] = {}
        self.void = void
        """Fingerprints of keys no longer valid for order tokens."""
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
        """Distinguishes keys even if an id is reused; reveals nothing about the key."""
        return self.derived(key_id, "fingerprint")[:8].hex()

    def with_void_keys(self, fingerprints: Iterable[str]) -> "Keys":
        """Returns a copy in which the keys with these fingerprints neither sign nor verify order tokens."""
        return Keys(self._secrets, frozenset(fingerprints))

    def with_first(self, key_id: str, secret: bytes) -> "Keys":
        """Returns a copy with another key, which signs from now on."""
        return Keys({key_id: secret, **self._secrets}, self.void)

    def with_last(self, key_id: str) -> "Keys":
        """Returns a copy with this key moved to the end, where it only verifies."""
        others = {each: secret for each, secret in self._secrets.items() if each != key_id}
        return Keys({**others, key_id: self._secrets[key_id]}, self.void)

    def without(self, key_id: str) -> "Keys":
        return Keys({each: secret for each, secret in self._secrets.items() if each != key_id}, self.void)

    def to_text(self) -> str:
        """Returns `id:hex,id:hex`, as `parse_keys` reads it."""
        return ",".join(f"{key_id}:{secret.hex()}" for key_id, secret in self._secrets.items())

    def derived(self, key_id: str, use: str) -> bytes:
        """Returns the key for one use: HKDF-SHA256 (RFC 5869) without salt, of which one block is enough."""
        extracted_key = digest(bytes(32), self._secrets[key_id], "sha256")
        return digest(extracted_key, use.encode() + b"\x01", "sha256")

    def mac(self, key_id: str, use: str, message: bytes) -> bytes:
        """Returns the HMAC-SHA256 with the key for one use, from its two cached hash states (RFC 2104). Every cart
        response needs one, and the `hmac` module would set up or copy more state at each call.
        """
        states = self._macs.get((key_id, use))
        if states is None:
            block = self.derived(key_id, use).ljust(_BLOCK, b"\0")
            states = sha256(bytes(byte ^ 0x36 for byte in block)), sha256(bytes(byte ^ 0x5C for byte in block))
            self._macs[key_id, use] = states
        inner, outer = states[0].copy(), states[1].copy()
        inner.update(message)
        outer.update(inner.digest())
        digest: bytes = outer.digest()
        return digest

    def __getstate__(self) -> dict[str, bytes]:
        return self._secrets

    def __setstate__(self, secrets: dict[str, bytes]) -> None:
        self.__init__(secrets)  # type: ignore[misc]


def parse_keys(text: str) -> Keys:
    """Parses `id:hex,id:hex`; the ValueError contains no key material."""
    secrets: dict[str, bytes] = {}
    for position, entry in enumerate(text.split(","), 1):
        match = _ENTRY.fullmatch(entry.strip())
        if match is None:
            raise ValueError(
                f"entry {position} is not `id:hex`: an id of 1 to 8 lowercase letters or digits, 32 to 64 bytes in hex"
            )
        if match[1] in secrets:
            raise ValueError(f"the key id {match[1]} is used twice")
        secrets[match[1]] = bytes.fromhex(match[2])
    return Keys(secrets)
