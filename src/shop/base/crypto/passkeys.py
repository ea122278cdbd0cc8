"""Verifies what authenticators answer (WebAuthn). The library is loaded on first use: call these functions in a thread.

User verification is always required. Only the attestation formats of consumer passkeys are read, which carry no
certificates.
"""

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

import msgspec

ALGORITHMS = (-7, -8, -257)
"""ES256, Ed25519 and RS256, as COSE numbers."""
MAX_CREDENTIAL_ID = 1023
_FORMATS = frozenset({"none", "packed"})


class InvalidPasskey(Exception):
    """The authenticator's answer is malformed or wrong; the message is for the audit log only."""


class RelyingParty(msgspec.Struct, frozen=True):
    """Who asks for a passkey: a host name, and the origin of its pages."""

    id: str
    origin: str


class NewCredential(msgspec.Struct, frozen=True):
    """A credential that an authenticator created."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


@lru_cache(maxsize=1)
def _library() -> Any:
    return import_module("webauthn")


def encode_bytes(data: bytes) -> str:
    """Encodes bytes as base64url without padding, as browsers do."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_bytes(text: object) -> bytes:
    if not isinstance(text, str) or not text.isascii():
        raise InvalidPasskey("not base64url")
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise InvalidPasskey("not base64url") from None


def read_challenge(credential: Mapping[str, Any]) -> bytes:
    """Returns the challenge that an answer claims to be for; the verification checks it."""
    response = credential.get("response")
    try:
        data = json.loads(decode_bytes(response.get("clientDataJSON") if isinstance(response, dict) else None))
    except (ValueError, RecursionError):
        raise InvalidPasskey("malformed client data") from None
    return decode_bytes(data.get("challenge") if isinstance(data, dict) else None)


def read_credential_id(credential: Mapping[str, Any]) -> bytes:
    credential_id = decode_bytes(credential.get("id"))
    if not 0 < len(credential_id) <= MAX_CREDENTIAL_ID:
        raise InvalidPasskey("malformed id")
    return credential_id


def verify_new_credential(credential: Mapping[str, Any], challenge: bytes, party: RelyingParty) -> NewCredential:
    """Verifies a new credential; raises InvalidPasskey."""
    library = _library()
    try:
        data = library.helpers.base64url_to_bytes(credential["response"]["attestationObject"])
        if library.helpers.parse_attestation_object(data).fmt not in _FORMATS:
            raise InvalidPasskey("unsupported attestation")
        result = library.verify_registration_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
            supported_pub_key_algs=list(ALGORITHMS),
        )
    except InvalidPasskey:
        raise
    except Exception as error:
        # Hostile CBOR and keys raise errors of many kinds in the libraries below.
        raise InvalidPasskey(type(error).__name__) from error
    if len(result.credential_id) > MAX_CREDENTIAL_ID:
        raise InvalidPasskey("malformed id")
    return NewCredential(result.credential_id, result.credential_public_key, result.sign_count)


def verify_assertion(
    credential: Mapping[str, Any], challenge: bytes, party: RelyingParty, public_key: bytes, sign_count: int
) -> int:
    """Verifies a signature with a registered key and returns the new use count; raises InvalidPasskey."""
    library = _library()
    try:
        result = library.verify_authentication_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    except Exception as error:
        raise InvalidPasskey(type(error).__name__) from error
    new_count: int = result.new_sign_count
    return new_count
