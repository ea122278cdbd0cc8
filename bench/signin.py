"""Inserts login requests and sessions, so that only the exchange and the account are measured."""

import asyncio
from uuid import UUID

import asyncpg
import msgspec

from shop.base.crypto.keys import Keys
from shop.base.crypto.secrets import USER_ACCESS, new_bytes, secret_hash, secret_text
from shop.base.ids import new_id
from shop.rules.access.codes import login_code


def create_login_requests(url: str, keys: Keys, name: str, count: int) -> list[str]:
    """Inserts unverified users with a valid code; returns the bodies that exchange the codes."""
    requests = [(new_id(), f"{name}{number}@example.com", new_bytes(16)) for number in range(count)]

    async def insert() -> None:
        connection = await asyncpg.connect(url)
        await connection.executemany(
            "insert into users (id, email, email_key, created_at, updated_at) values ($1, $2, $2, now(), now())",
            [(new_id(), email) for _, email, _ in requests],
        )
        await connection.executemany(
            "insert into login_requests (id, email_key, email, key_id, nonce, created_at, expires_at) "
            "values ($1, $2, $2, $3, $4, now(), now() + interval '1 hour')",
            [(request_id, email, keys.current, nonce) for request_id, email, nonce in requests],
        )
        await connection.execute("vacuum analyze login_requests, users")
        await connection.close()

    asyncio.run(insert())
    return [
        msgspec.json.encode({"user": {"email": email, "code": _code(keys, request_id, nonce)}}).decode()
        for request_id, email, nonce in requests
    ]


def create_bearers(url: str, count: int) -> list[str]:
    """Inserts signed-in users; returns their access tokens."""
    tokens = [(new_id(), new_id(), secret_text(USER_ACCESS, new_bytes())) for _ in range(count)]

    async def insert() -> None:
        connection = await asyncpg.connect(url)
        await connection.executemany(
            "insert into users (id, email, email_key, verified_at, created_at, updated_at) "
            "values ($1, $2, $2, now(), now(), now())",
            [(user_id, f"bearer-{user_id}@example.com") for user_id, _, _ in tokens],
        )
        await connection.executemany(
            "insert into sessions (id, user_id, source, created_at, refreshed_at, idle_expires_at, absolute_expires_at) "
            "values ($1, $2, '', now(), now(), now() + interval '1 day', now() + interval '1 day')",
            [(session_id, user_id) for user_id, session_id, _ in tokens],
        )
        await connection.executemany(
            "insert into access_tokens (hash, session_id, refresh_hash, created_at, expires_at) "
            "values ($1, $2, 'x', now(), now() + interval '1 day')",
            [(secret_hash(token), session_id) for _, session_id, token in tokens],
        )
        await connection.execute("vacuum analyze users, sessions, access_tokens")
        await connection.close()

    asyncio.run(insert())
    return [token for _, _, token in tokens]


def _code(keys: Keys, request_id: UUID, nonce: bytes) -> str:
    return login_code(keys, keys.current, request_id, nonce, is_long=False)
