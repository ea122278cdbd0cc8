"""An operator's HTTP client for the dashboard: it sends the session cookie and the CSRF token as a browser does."""

import base64
import re
import secrets
import time
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pyotp
from argon2 import PasswordHasher

from shop.actions.access.sealed_secrets import encrypt_secret
from shop.base.crypto.keys import parse_keys
from shop.base.crypto.secrets import OPERATOR_LINK, OPERATOR_SESSION, new_secret, secret_hash
from shop.rules.access.operators import csrf_token
from shop.rules.access.permissions import OWNER_ID
from shop.rules.access.recovery_codes import recovery_code
from tests.secret_leaks import record_secret
from tests.service import KEYS

PASSWORD = "seventeen green bottles"
# A hash with the cheapest parameters: it makes the tests fast, and most of their operators never sign in.
PASSWORD_HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
COOKIE = "__Host-shop_operator"
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}
UNKNOWN_ID = "01890000-0000-7000-8000-000000000000"
"""The id of no record."""
TOTP_SECRET = b"twenty bytes of some"
_KEYS = parse_keys(KEYS)

_OPERATOR = """insert into operators
    (id, email, email_key, password_hash, totp_sealed, role_id, created_at, updated_at)
    values ($1, $2, $2, $3, $4, $5, now(), now())"""
_SESSION = """insert into operator_sessions (id, hash, operator_id, source, created_at, seen_at, authenticated_at)
    values ($1, $2, $3, '192.0.2.1', now(), now(), now())"""
_LINK = """insert into operator_links (hash, operator_id, created_at, expires_at)
    values ($1, $2, now(), now() + interval '15 minutes')"""

_RECOVERY_CODE = "insert into operator_recovery_codes (hash, operator_id, created_at) values ($1, $2, now())"


def secret_of(response: httpx2.Response) -> str:
    """The session secret in the response's cookie."""
    match = re.match(rf"{COOKIE}=([^;]*);", response.headers["set-cookie"])
    assert match
    return match[1]


def csrf_of(page: str) -> str:
    match = re.search(r'name="csrf" value="([^"]+)"', page)
    assert match, page
    return match[1]


def code(steps: int = 0) -> str:
    """The code of the authenticator now, or so many 30-second steps from now."""
    return pyotp.TOTP(base64.b32encode(TOTP_SECRET).decode()).generate_otp(int(time.time()) // 30 + steps)


class Dashboard:
    """One operator in one browser."""

    def __init__(self, http: httpx2.AsyncClient, operator_id: UUID, email: str, secret: str) -> None:
        self.http = http
        self.id = operator_id
        self.email = email
        self.secret = secret

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"{COOKIE}={self.secret}"}

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.http.get(path, headers={**self.cookie, **headers})

    async def csrf(self) -> str:
        """The CSRF token of this session, as its pages have it."""
        return csrf_token(_KEYS, secret_hash(self.secret))

    async def post(self, path: str, *, headers: Any = None, **fields: Any) -> httpx2.Response:
        """Submits a form of the dashboard; a list is sent as several fields with one name."""
        fields = {"csrf": await self.csrf(), **fields}
        return await self.http.post(path, data=fields, headers={**self.cookie, **SAME_ORIGIN, **(headers or {})})

    async def is_signed_in(self) -> bool:
        return (await self.get("/admin/account")).status_code == 200


async def new_operator(
    db: Any, *, totp: bool = False, password_hash: str | None = PASSWORD_HASH, role_id: UUID = OWNER_ID
) -> tuple[UUID, str]:
    operator_id, email = uuid4(), f"{uuid4().hex}@operators.example"
    sealed_secret = encrypt_secret(_KEYS, "totp", TOTP_SECRET, operator_id.bytes) if totp else None
    await db.execute(_OPERATOR, operator_id, email, password_hash, sealed_secret, role_id)
    return operator_id, email


async def new_role(db: Any, *permissions: str, refund_limit: int | None = None) -> UUID:
    """A custom role."""
    role_id = uuid4()
    await db.execute(
        "insert into roles (id, name, permissions, refund_limit, created_at, updated_at) "
        "values ($1, $2, $3, $4, now(), now())",
        role_id,
        f"Role {role_id.hex}",
        list(permissions),
        refund_limit,
    )
    return role_id


async def new_session(db: Any, operator_id: UUID) -> str:
    secret = record_secret(new_secret(OPERATOR_SESSION))
    await db.execute(_SESSION, uuid4(), secret_hash(secret), operator_id)
    return secret


async def new_link(db: Any, operator_id: UUID | None) -> str:
    token = record_secret(new_secret(OPERATOR_LINK))
    await db.execute(_LINK, secret_hash(token), operator_id)
    return f"/admin/join/{token}"


async def new_recovery_code(db: Any, operator_id: UUID) -> str:
    code = recovery_code(secrets.token_bytes(15))
    await db.execute(_RECOVERY_CODE, secret_hash(code), operator_id)
    return code


async def new_dashboard(
    http: httpx2.AsyncClient, db: Any, *, totp: bool = False, role_id: UUID = OWNER_ID
) -> Dashboard:
    """A new operator, signed in just now."""
    operator_id, email = await new_operator(db, totp=totp, role_id=role_id)
    return Dashboard(http, operator_id, email, await new_session(db, operator_id))


async def sign_in(http: httpx2.AsyncClient, email: str, password: str = PASSWORD, **headers: str) -> httpx2.Response:
    fields = {"email": email, "password": password}
    return await http.post("/admin/sign-in", data=fields, headers={**SAME_ORIGIN, **headers})


async def ticket_of(http: httpx2.AsyncClient, email: str, **headers: str) -> str:
    """Signs in with the password; returns the ticket from the page that asks for the code."""
    page = await sign_in(http, email, **headers)
    match = re.search(r'name="ticket" value="([^"]+)"', page.text)
    assert match
    assert page.status_code == 200
    assert "set-cookie" not in page.headers
    return match[1]


async def backdate_session(db: Any, dashboard: Dashboard, column: str, interval: str) -> None:
    """Moves a time of the session back by the interval."""
    await db.execute(
        f"update operator_sessions set {column} = {column} - interval '{interval}' where hash = $1",
        secret_hash(dashboard.secret),
    )


async def events(db: Any, *, actor: UUID | None = None, subject: UUID | None = None) -> list[tuple[str, str]]:
    """Action and outcome of the audit events of an actor or a subject, oldest first."""
    rows = await db.fetch(
        """select action, outcome from audit_events
        where ($1::uuid is null or (actor_kind = 'operator' and actor_id = $1))
            and ($2::uuid is null or subject_id = $2)
        order by at, id""",
        actor,
        subject,
    )
    return [(row["action"], row["outcome"]) for row in rows]
