"""Operator sign-in rules: authenticator codes, sign-in tickets, CSRF tokens and local redirects."""

import base64
import hmac
import re
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import UUID

from shop.base.crypto.keys import Keys
from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    import pyotp
else:
    pyotp = LazyModule("pyotp")

STEP_SECONDS = 30
TICKET_SECONDS = 300
_TICKET = re.compile(r"([0-9a-z]{1,8})\.([0-9a-f]{32})\.([0-9]{1,12})\.[0-9a-f]{64}", re.ASCII)
_CODE = re.compile(r"[0-9]{6}", re.ASCII)
_LOCAL_PATH = re.compile(r"/admin(?:[/?][A-Za-z0-9/_.?=&%+~@:-]*)?", re.ASCII)


def authenticator_text(secret: bytes) -> str:
    """Returns a secret as text, to type into an authenticator."""
    return base64.b32encode(secret).decode()


def authenticator_uri(secret: bytes, *, email: str, shop: str) -> str:
    """Returns the provisioning URI of a secret, for a QR code."""
    return pyotp.TOTP(authenticator_text(secret)).provisioning_uri(name=email, issuer_name=shop.replace(":", " "))


def totp_step(secret: bytes, text: str, *, now: int, last_step: int) -> int | None:
    """Returns the time step of a code: the current or an adjacent one, as clocks differ; None if wrong or used."""
    code = text.replace(" ", "")
    if not _CODE.fullmatch(code):
        return None
    generator, current = pyotp.TOTP(authenticator_text(secret)), now // STEP_SECONDS
    matching_steps = [
        step
        for step in (current - 1, current, current + 1)
        if hmac.compare_digest(generator.generate_otp(step).encode(), code.encode())
    ]
    return next((step for step in matching_steps if step > last_step), None)


def local_path(path: str | None) -> str:
    """Returns the redirect path after sign-in; only dashboard pages, to prevent open redirects."""
    if path and _LOCAL_PATH.fullmatch(path) and "//" not in path and ".." not in path:
        return path
    return "/admin"


def sign_in_ticket(keys: Keys, operator_id: UUID, password_hash: str, now: int) -> str:
    """Returns a signed proof of the correct password for the authenticator code page; nothing is stored."""
    return _ticket(keys, keys.current, operator_id, now, password_hash)


def ticket_owner(ticket: str) -> UUID | None:
    """Returns the operator id that a ticket claims; `is_ticket` verifies it."""
    match = _TICKET.fullmatch(ticket)
    return UUID(match[2]) if match else None


def is_ticket(keys: Keys, ticket: str, password_hash: str, now: int, not_before: int = 0) -> bool:
    """Returns whether the ticket is signed by us for this password, and has not expired."""
    match = _TICKET.fullmatch(ticket)
    if match is None or match[1] not in keys or not 0 <= now - int(match[3]) <= TICKET_SECONDS:
        return False
    if int(match[3]) < not_before:
        return False
    expected_ticket = _ticket(keys, match[1], UUID(match[2]), int(match[3]), password_hash)
    return hmac.compare_digest(expected_ticket.encode(), ticket.encode())


def _ticket(keys: Keys, key_id: str, operator_id: UUID, moment: int, password_hash: str) -> str:
    password = sha256(password_hash.encode()).digest()
    proof = keys.mac(key_id, "sign-in ticket", operator_id.bytes + moment.to_bytes(8) + password)
    return f"{key_id}.{operator_id.hex}.{moment}.{proof.hex()}"


def csrf_token(keys: Keys, session_hash: bytes) -> str:
    """Returns the CSRF token for the forms of a session."""
    return _csrf(keys, keys.current, session_hash)


def is_csrf_token(keys: Keys, session_hash: bytes, token: str) -> bool:
    key_id = token.partition(".")[0]
    return key_id in keys and hmac.compare_digest(_csrf(keys, key_id, session_hash).encode(), token.encode())


def _csrf(keys: Keys, key_id: str, session_hash: bytes) -> str:
    return f"{key_id}.{keys.mac(key_id, 'csrf', session_hash).hex()}"
