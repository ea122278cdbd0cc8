"""Passkey rules: the host name that they belong to, signed challenges, and the options for the browser."""

import hmac
import ipaddress
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from shop.base.crypto.keys import Keys
from shop.base.crypto.passkeys import ALGORITHMS, RelyingParty, encode_bytes
from shop.models.access.operators import Operator
from shop.models.access.passkeys import Passkey

MAX_PASSKEYS = 20
CHALLENGE_SECONDS = 300
REGISTER, SIGN_IN, CONFIRM = "register", "sign in", "confirm"
"""What a challenge is for."""
_CHALLENGE = re.compile(rb"([0-9a-z]{1,8})\.([0-9]{1,18})\.([0-9a-f]{32})\.[0-9a-f]{64}", re.ASCII)


def find_relying_party(public_url: str | None, origin: str) -> tuple[RelyingParty | None, str]:
    """Returns the host that passkeys belong to, or None and the reason why they cannot be used.

    `origin` is what the request claims. It is trusted only for `localhost`, which no other machine can be.
    """
    host = urlsplit(origin).hostname or ""
    if public_url is None and host != "localhost" and not _is_address(host):
        return None, "You cannot use passkeys here: set SHOP_PUBLIC_URL on the server to the address of the shop."
    own = public_url or origin
    own_host = urlsplit(own).hostname or ""
    if _is_address(own_host):
        return None, "You cannot use passkeys here: open the dashboard by its host name, not its IP address."
    if urlsplit(own).scheme != "https" and own_host != "localhost":
        return None, "You cannot use passkeys here: they need HTTPS."
    return RelyingParty(own_host, own), ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def new_challenge(keys: Keys, purpose: str, browser: bytes, nonce: bytes, now: int) -> bytes:
    """Returns a signed challenge for one browser; nothing is stored. `now` is in microseconds."""
    return _challenge(keys, keys.current, purpose, browser, nonce.hex(), now)


def read_step(keys: Keys, purpose: str, browser: bytes, challenge: bytes, now: int, not_before: int = 0) -> int | None:
    """Returns when a challenge was issued, or None unless it is ours, for this purpose and browser, and not expired."""
    match = _CHALLENGE.fullmatch(challenge)
    if match is None or match[1].decode() not in keys:
        return None
    step = int(match[2])
    if not 0 <= now - step <= CHALLENGE_SECONDS * 1_000_000 or step < not_before:
        return None
    expected_challenge = _challenge(keys, match[1].decode(), purpose, browser, match[3].decode(), step)
    return step if hmac.compare_digest(expected_challenge, challenge) else None


def _challenge(keys: Keys, key_id: str, purpose: str, browser: bytes, nonce: str, step: int) -> bytes:
    message = f"{purpose}\0{step}\0{nonce}\0".encode() + browser
    return f"{key_id}.{step}.{nonce}.{keys.mac(key_id, 'passkey challenge', message).hex()}".encode()


def creation_options(
    party: RelyingParty, shop_name: str, operator: Operator, challenge: bytes, passkeys: Sequence[Passkey]
) -> dict[str, Any]:
    """Returns the browser's options for a new passkey; an authenticator creates one for each account only."""
    return {
        "rp": {"id": party.id, "name": shop_name},
        "user": {"id": encode_bytes(operator.id.bytes), "name": operator.email, "displayName": operator.email},
        "challenge": encode_bytes(challenge),
        "pubKeyCredParams": [{"type": "public-key", "alg": number} for number in ALGORITHMS],
        "excludeCredentials": _descriptors(party, passkeys),
        "authenticatorSelection": {
            "residentKey": "required",
            "requireResidentKey": True,
            "userVerification": "required",
        },
        "attestation": "none",
        "timeout": CHALLENGE_SECONDS * 1000,
    }


def request_options(party: RelyingParty, challenge: bytes, passkeys: Sequence[Passkey]) -> dict[str, Any]:
    """Returns the browser's options for a signature; without passkeys, the browser offers those of this host."""
    return {
        "rpId": party.id,
        "challenge": encode_bytes(challenge),
        "allowCredentials": _descriptors(party, passkeys),
        "userVerification": "required",
        "timeout": CHALLENGE_SECONDS * 1000,
    }


def _descriptors(party: RelyingParty, passkeys: Sequence[Passkey]) -> list[dict[str, str]]:
    return [
        {"type": "public-key", "id": encode_bytes(passkey.credential_id)}
        for passkey in passkeys
        if passkey.rp_id == party.id
    ]
