"""The floor of the platform API: the shop's own statements in sequence, without checks, logging or rules."""

from datetime import datetime
from typing import Any

import msgspec

from shop.base.crypto.secrets import PLATFORM_ACCESS, PLATFORM_REFRESH, new_secret, secret_hash
from shop.base.ids import new_id
from shop.base.listing import Sort
from shop.base.money import money_text, wire_decimal
from shop.jsonapi.encoder import wire_time
from shop.jsonapi.resource import Attribute, Money
from shop.platform.resources.registry import COLLECTIONS
from shop.queries import journal, record_counts, records
from shop.queries.access import applications
from shop.queries.access import sessions as session_queries

encode = msgspec.json.Encoder().encode
SIZE, LIFE, MONTH = 25, 7200, 2_592_000
ORDERS = COLLECTIONS["order"]
_RECORDS = ORDERS.actions.records
_LIST = records._list_statement(_RECORDS, ((), False), Sort("id", True), "number")
_COUNT = record_counts._count_statement(_RECORDS, ((), False))
_PLAIN = [field.name for field in ORDERS.resource.fields if isinstance(field, Attribute)]
_AMOUNTS = [field.name for field in ORDERS.resource.fields if isinstance(field, Money)]
_LINKS: dict[str, Any] = {
    name: {"data": [] if relation.is_many else None} for name, relation in ORDERS.resource.relations.items()
}


class FloorPlatform:
    """Grants a token to an application, and lists orders for a token, without verifying them."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self.statements = 0

    async def grant(self, body: bytes) -> bytes:
        credentials = msgspec.json.decode(body)
        access_token, refresh_token = new_secret(PLATFORM_ACCESS), new_secret(PLATFORM_REFRESH)
        async with self.pool.acquire() as connection:

            async def run(statement: Any, **values: Any) -> Any:
                self.statements += 1
                return await connection.fetchrow(statement.sql, *statement.arguments(values))

            secret = secret_hash(credentials["client_secret"])
            application = await run(applications._AUTHENTICATE, client_id=credentials["client_id"], hash=secret)
            async with connection.transaction():
                session = await run(
                    session_queries._INSERT_SESSION,
                    id=new_id(),
                    user_id=None,
                    application_id=application["id"],
                    scope=credentials["scope"],
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
                    ttl=LIFE,
                )
                await run(applications._RECORD_USE, application_id=application["id"])
                await run(
                    journal._AUDIT,
                    id=new_id(),
                    actor_kind="application",
                    actor_id=application["id"],
                    action="token_granted",
                    outcome="done",
                    subject_id=application["id"],
                    subject_type="application",
                    source="127.0.0.1",
                    request_id="x",
                    detail={},
                    changes={},
                )
        return encode(
            {
                "access_token": access_token,
                "token_type": "Bearer",
                "expires_in": LIFE,
                "refresh_token": refresh_token,
                "created_at": token_row[0],
                "scope": credentials["scope"],
            }
        )

    async def orders(self, token: str) -> bytes:
        self.statements += 3
        async with self.pool.acquire() as connection:
            caller = applications._FIND_CALLER
            await connection.fetchrow(caller.sql, *caller.arguments({"hash": secret_hash(token)}))
            rows = await connection.fetch(_LIST.sql, *_LIST.arguments({"most": SIZE, "skip": 0}))
            total = await connection.fetchval(_COUNT.sql, *_COUNT.arguments({}))
        text = money_text("USD", "en-US")
        meta = {"count": len(rows), "total_count": total, "total_pages": total // SIZE}
        return encode({"data": [_order(row, text) for row in rows], "meta": meta})


def _order(row: Any, text: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {name: _wire_value(row[name]) for name in _PLAIN}
    for name in _AMOUNTS:
        amount = row.get(name, 0)
        attributes[name], attributes[f"display_{name}"] = wire_decimal(amount, 2), text(amount)
    return {"id": row["id"], "type": "order", "attributes": attributes, "relationships": _LINKS}


def _wire_value(value: Any) -> Any:
    return wire_time(value) if isinstance(value, datetime) else value
