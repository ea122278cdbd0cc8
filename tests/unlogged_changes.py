"""Finds changes of records without an event: triggers in the database of the tests note each changed row of a declared
resource, and each event, with their transactions. Whichever request or job makes a change, the same transaction must
have an event about the record, or about the record that it is a part of. Connections of the tests do not count.
"""

from collections.abc import Mapping

import asyncpg
import msgspec

from shop.platform.resources.registry import COLLECTIONS
from tests.cluster import execute


class Exempt(msgspec.Struct, frozen=True):
    """A change that needs no event, and why."""

    reason: str
    fields: tuple[str, ...] = ()
    """The columns whose change needs no event; all changes if there are none."""
    while_: str = "true"
    """The SQL condition on the row, as `either`."""


_OPEN_ORDER = """not exists (
    select from orders where id = (either ->> 'order_id')::uuid and completed_at is not null
)"""
_OF_OPEN_ORDER = Exempt("open carts have no events", while_=_OPEN_ORDER)
_PLACE = ("lft", "rgt", "depth", "position")
_MOVES = Exempt("only the record that is moved has an event, not those that make room for it", fields=_PLACE)
_QUEUE = ("position", "replay_position", "replay_until", "leased_by", "leased_until", "paused_until", "failing_since")
EXEMPT: Mapping[str, tuple[Exempt, ...]] = {
    "audit_event": (Exempt("the audit is a log itself"),),
    "stock_movement": (Exempt("the event is stock.changed, of its stock item"),),
    "coupon_code": (Exempt("the event is that of its batch, which has thousands"),),
    "store_credit_event": (Exempt("the event is that of the store credit"),),
    "shipping_rate": (Exempt("a choice while the order is open; a shipment that is divided copies it"),),
    "order": (
        Exempt("open carts have no events", while_="either ->> 'completed_at' is null"),
        Exempt("the shop's own e-mail", fields=("confirmation_delivered",)),
        Exempt("ends order tokens", fields=("token_version",)),
    ),
    "line_item": (_OF_OPEN_ORDER,),
    "shipment": (_OF_OPEN_ORDER,),
    "payment": (
        _OF_OPEN_ORDER,
        Exempt("has no outcome yet", while_="either ->> 'state' in ('checkout', 'processing')"),
    ),
    "refund": (
        _OF_OPEN_ORDER,
        Exempt("a refund has an event once it is made", while_="either ->> 'state' <> 'completed'"),
    ),
    "adjustment": (_OF_OPEN_ORDER,),
    "order_promotion": (_OF_OPEN_ORDER,),
    "user": (Exempt("anyone can enter an address: no customer yet", while_="either ->> 'verified_at' is null"),),
    "address": (Exempt("belongs to a cart or an order", while_="either ->> 'user_id' is null"),),
    "application": (Exempt("reads the shop, at most once a minute", fields=("last_used_at",)),),
    "image": (Exempt("the event is settings.updated", while_="either ->> 'shop_id' is not null"),),
    "promotion": (Exempt("counts a use, of an order that has its own event", fields=("uses",)),),
    "webhook_delivery": (Exempt("delivers an event"),),
    "webhook_attempt": (Exempt("delivers an event"),),
    "event": (Exempt("an attempt to deliver an event"),),
    "webhook_endpoint": (
        Exempt("the state of its queue", fields=_QUEUE),
        Exempt("was deleted before", while_="tg_op = 'DELETE' and former ->> 'deleted_at' is not null"),
    ),
    "taxon": (_MOVES,),
    "menu_item": (_MOVES,),
}
PARTS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("line_item", "shipment", "payment", "refund", "adjustment", "order_promotion"), ("order", "order_id")
    ),
    "classification": ("product", "product_id"),
    "product_property": ("product", "product_id"),
    "variant": ("product", "product_id"),
    "promotion_rule": ("promotion", "promotion_id"),
    "promotion_action": ("promotion", "promotion_id"),
}
"""Records that are parts of another one: its type and the column with its id. An event about the whole is enough."""
_SETUP = """
create schema noted;
create sequence noted.numbers;
create unlogged table noted.changes (
    tx text, name text, record_id uuid, owner text, owner_id uuid, operation text, fields text[], statement text,
    former jsonb, latter jsonb, number bigint default nextval('noted.numbers')
);
create function noted.note_logged() returns trigger language plpgsql as $$
begin
    insert into noted.changes values (
        pg_current_xact_id()::text, new.subject_type, new.subject_id, null, null, 'EVENT', array[new.type]
    );
    return null;
end
$$;
create trigger note_logged after insert on events for each row execute function noted.note_logged();
"""
_WATCH = """
create function noted.note_{name}() returns trigger language plpgsql as $$
declare
    former jsonb := case when tg_op = 'INSERT' then '{{}}' else to_jsonb(old) end;
    latter jsonb := case when tg_op = 'DELETE' then '{{}}' else to_jsonb(new) end;
    either jsonb := former || latter;
    changed text[] := array(
        select key from jsonb_each(either)
        where latter -> key is distinct from former -> key and key <> all(array[{fields}])
    );
begin
    -- What a foreign key deletes or empties together with another record has no event of its own.
    if current_setting('application_name') = 'shop' and changed <> '{{}}' and not ({exempt}) and not (
        tg_op <> 'INSERT' and current_query() ~ '^DELETE FROM' and current_query() !~ ('^DELETE FROM ' || tg_table_name)
    ) then
        insert into noted.changes values (
            pg_current_xact_id()::text, '{name}', (either ->> 'id')::uuid, '{owner}', (either ->> '{owner_id}')::uuid,
            tg_op, changed, left(regexp_replace(current_query(), '\\s+', ' ', 'g'), 100), former, latter
        );
    end if;
    return null;
end
$$;
create trigger note_change after insert or update or delete on {table}
for each row execute function noted.note_{name}();
"""
_FIND = """
select c.name, c.operation, c.fields, c.statement, count(*) as count
from noted.changes c
where c.operation <> 'EVENT' and not exists (
    select from noted.changes e where e.tx = c.tx and e.operation = 'EVENT'
      and (e.name = c.name and e.record_id = c.record_id or e.name = c.owner and e.record_id = c.owner_id
        -- An event about each record would repeat what is erased.
        or e.fields = '{customer.erased}')
) and exists (
    select from unnest(c.fields) field
    where (select s.former -> field from noted.changes s where s.tx = c.tx and s.record_id = c.record_id
        and s.operation <> 'EVENT' order by s.number limit 1)
    is distinct from (select s.latter -> field from noted.changes s where s.tx = c.tx and s.record_id = c.record_id
        and s.operation <> 'EVENT' order by s.number desc limit 1)
)
group by 1, 2, 3, 4 order by 1, 2, 3
"""


def watch(url: str) -> None:
    """Creates the triggers."""
    # Two resources can show the records of one table; the first one names the subject of their events.
    names = {COLLECTIONS[name].actions.records.table.name: name for name in reversed(list(COLLECTIONS))}.values()
    execute(url, _SETUP, *(_watch_statement(name) for name in names))


def _watch_statement(name: str) -> str:
    exempt = EXEMPT.get(name, ())
    fields = ["updated_at", "updated_hour", *(field for each in exempt for field in each.fields)]
    owner, owner_id = PARTS.get(name, ("", "id"))
    return _WATCH.format(
        name=name,
        table=COLLECTIONS[name].actions.records.table.name,
        fields=", ".join(f"'{field}'" for field in fields),
        exempt=" or ".join([each.while_ for each in exempt if not each.fields] or ["false"]),
        owner=owner,
        owner_id=owner_id,
    )


async def find_unlogged(url: str) -> list[str]:
    """Returns a line for each kind of change without an event."""
    connection = await asyncpg.connect(url)
    await connection.execute("create index on noted.changes (tx)")
    rows = await connection.fetch(_FIND)
    await connection.close()
    return [
        f"{row['operation']} of {row['name']} ({', '.join(row['fields'])}), {row['count']} times: {row['statement']}"
        for row in rows
    ]
