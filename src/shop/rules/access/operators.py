"""Which code of an authenticator counts, what proves a form ours, where a sign-in leads."""

import base64
import hmac
import re
from hashlib import sha256
from uuid import UUID

import pyotp

from shop.base.keys import Keys

STEP_SECONDS = 30
TICKET_SECONDS = 300
_TICKET = re.compile(r"([0-9a-z]{1,8})\.([0-9a-f]{32})\.([0-9]{1,12})\.[0-9a-f]{64}", re.ASCII)
_CODE = re.compile(r"[0-9]{6}", re.ASCII)
_LOCAL_PATH = re.compile(r"/admin(?:[/?][A-Za-z0-9/_.?=&%+~@:-]*)?", re.ASCII)


def authenticator_text(secret: bytes) -> str:
    """A secret as it is typed into an authenticator."""
    return base64.b32encode(secret).decode()


def authenticator_uri(secret: bytes, *, email: str, shop: str) -> str:
    """A secret as a QR code carries it."""
    return pyotp.TOTP(authenticator_text(secret)).provisioning_uri(name=email, issuer_name=shop.replace(":", " "))


def totp_step(secret: bytes, typed: str, *, now: int, used: int) -> int | None:
    """The time step whose code was typed: this one or a neighbour, for clocks differ; none when it was used before."""
    code = typed.replace(" ", "")
    if not _CODE.fullmatch(code):
        return None
    generator, current = pyotp.TOTP(authenticator_text(secret)), now // STEP_SECONDS
    fitting = [
        step
        for step in (current - 1, current, current + 1)
        if hmac.compare_digest(generator.generate_otp(step).encode(), code.encode())
    ]
    return next((step for step in fitting if step > used), None)


def local_path(wanted: str | None) -> str:
    """Where to go on after a sign-in: a page of the dashboard and nothing else, or someone could send us anywhere."""
    if wanted and _LOCAL_PATH.fullmatch(wanted) and "//" not in wanted and ".." not in wanted:
        return wanted
    return "/admin"


def sign_in_ticket(keys: Keys, operator_id: UUID, password_hash: str, now: int) -> str:
    """Proof that the password was given, for the page that asks for the code: nothing of it is kept."""
    return _ticket(keys, keys.current, operator_id, now, password_hash)


def ticket_owner(ticket: str) -> UUID | None:
    """Whose it says it is; whether that is true, `is_ticket` knows."""
    match = _TICKET.fullmatch(ticket)
    return UUID(match[2]) if match else None


def is_ticket(keys: Keys, ticket: str, password_hash: str, now: int, not_before: int = 0) -> bool:
    """Ours, of this password, and not too old."""
    match = _TICKET.fullmatch(ticket)
    if match is None or match[1] not in keys or not 0 <= now - int(match[3]) <= TICKET_SECONDS:
        return False
    if int(match[3]) < not_before:
        return False
    ours = _ticket(keys, match[1], UUID(match[2]), int(match[3]), password_hash)
    return hmac.compare_digest(ours.encode(), ticket.encode())


def _ticket(keys: Keys, key_id: str, operator_id: UUID, moment: int, password_hash: str) -> str:
    password = sha256(password_hash.encode()).digest()
    proof = keys.mac(key_id, "sign-in ticket", operator_id.bytes + moment.to_bytes(8) + password)
    return f"{key_id}.{operator_id.hex}.{moment}.{proof.hex()}"


def csrf_token(keys: Keys, session_hash: bytes) -> str:
    """What a form of this session carries, and no other site can know."""
    return _csrf(keys, keys.current, session_hash)


def is_csrf_token(keys: Keys, session_hash: bytes, token: str) -> bool:
    key_id = token.partition(".")[0]
    return key_id in keys and hmac.compare_digest(_csrf(keys, key_id, session_hash).encode(), token.encode())


def _csrf(keys: Keys, key_id: str, session_hash: bytes) -> str:
    return f"{key_id}.{keys.mac(key_id, 'csrf', session_hash).hex()}"
