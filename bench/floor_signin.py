"""The floor of signing in: the shop's own statements in sequence, without checks, logging or rules."""

from typing import Any

import msgspec

from shop.base.crypto.secrets import USER_ACCESS, USER_REFRESH, new_bytes, secret_hash, secret_text
from shop.base.ids import new_id
from shop.queries import journal
from shop.queries.access import login as login_queries
from shop.queries.access import sessions as session_queries
from shop.queries.customers import users

encode = msgspec.json.Encoder().encode
DAY, MONTH = 86_400, 2_592_000


class FloorSignIn:
    """Exchanges a code without verifying it; returns an account."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self.statements = 0

    async def exchange(self, body: bytes) -> bytes:
        email = msgspec.json.decode(body)["user"]["email"]
        access_token, refresh_token = secret_text(USER_ACCESS, new_bytes()), secret_text(USER_REFRESH, new_bytes())
        async with self.pool.acquire() as connection:

            async def run(statement: Any, **values: Any) -> Any:
                self.statements += 1
                return await connection.fetchrow(statement.sql, *statement.arguments(values))

            request = await run(login_queries._COUNT_ATTEMPT, key=email, tries=5)
            async with connection.transaction():
                await run(login_queries._CONSUME, request_id=request["id"])
                names = {"first_name": None, "last_name": None}
                user = await run(login_queries._LOCK_OR_CREATE_USER, id=new_id(), email=email, email_key=email, **names)
                await run(users._VERIFY, user_id=user["id"], given_first_name=None, given_last_name=None)
                session = await run(
                    session_queries._INSERT_SESSION,
                    id=new_id(),
                    user_id=user["id"],
                    application_id=None,
                    scope=None,
                    source="127.0.0.1",
                    user_agent=None,
                    idle=MONTH,
                    absolute=MONTH,
                )
                refresh_hash = secret_hash(refresh_token)
                await run(session_queries._INSERT_REFRESH, hash=refresh_hash, session_id=session["id"], parent=None)
                token_row = await run(
                    session_queries._INSERT_ACCESS,
                    hash=secret_hash(access_token),
                    session_id=session["id"],
                    refresh_hash=refresh_hash,
                    scope=None,
                    ttl=DAY,
                )
                await run(journal._DELETE_COUNT, key=b"x")
                await run(
                    journal._AUDIT,
                    id=new_id(),
                    actor_kind="user",
                    actor_id=user["id"],
                    action="sign_in",
                    outcome="done",
                    subject_id=None,
                    source="127.0.0.1",
                    request_id="x",
                    detail={},
                )
        return encode(
            {
                "access_token": access_token,
                "token_type": "Bearer",
                "expires_in": DAY,
                "refresh_token": refresh_token,
                "created_at": token_row[0],
            }
        )

    async def account(self, token: str) -> bytes:
        async with self.pool.acquire() as connection:
            self.statements += 1
            row = await connection.fetchrow(users._FIND_ACCOUNT.sql, secret_hash(token))
        names = ("email", "first_name", "last_name", "selected_locale", "completed_orders", "public_metadata")
        attributes = {**{name: row[name] for name in names}, "store_credits": 0}
        relations = {"default_billing_address": {"data": None}, "default_shipping_address": {"data": None}}
        data = {"id": str(row["id"]), "type": "user", "attributes": attributes, "relationships": relations}
        return encode({"data": data})
