"""One mail is leased at a time, whatever plan the database chooses."""

import uuid
from collections.abc import Callable

import asyncpg
import pytest

from shop.db.pool import open_database
from shop.queries.operations.outbox import lease_mail

FILL = """insert into outbox_mails (id, kind, recipient, ref_id, not_after, next_at, created_at)
    select gen_random_uuid(), 'login_code', 'a@shoppers.example', $1, now() + interval '1 day', now(), now()
    from generate_series(1, 8)"""
# Without these a semi-join runs as a loop, which evaluates its inner side for each row.
LOOPS = ("enable_hashagg", "enable_hashjoin", "enable_mergejoin", "enable_material", "enable_sort", "enable_memoize")


@pytest.mark.parametrize("is_looping", [False, True])
async def test_one_mail_is_leased_at_a_time(own_database: Callable[..., str], *, is_looping: bool) -> None:
    url = own_database()
    db = await asyncpg.connect(url)
    await db.execute(FILL, uuid.uuid4())
    name = await db.fetchval("select current_database()")
    for setting in LOOPS if is_looping else ():
        await db.execute(f"alter database {name} set {setting} = off")
    database = open_database(url, size=1)

    leases = [await lease_mail(database.session(), lease=60) for _ in range(9)]

    await database.close()
    rows = await db.fetch("select id, locked_until from outbox_mails order by locked_until")
    await db.close()
    assert leases[8] is None
    assert sorted(lease.mail.id for lease in leases if lease) == sorted(row["id"] for row in rows)
    assert [lease.has_more for lease in leases if lease] == [True] * 7 + [False]
    assert len({row["locked_until"] for row in rows}) == 8
