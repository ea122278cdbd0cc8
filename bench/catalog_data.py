"""Fills catalogs of a given size in SQL, because a hundred thousand requests would take too long."""

import asyncio
from uuid import UUID

import asyncpg

from shop.queries.catalog import product_index

CHUNK = 2_000
_SETUP = """
insert into option_types (id, name, presentation, position, created_at, updated_at)
select uuidv7(), name, initcap(name), place, now(), now()
from unnest(array['size', 'colour']) with ordinality as t(name, place);
insert into option_values (id, option_type_id, name, presentation, position, created_at, updated_at)
select uuidv7(), t.id, v.name, initcap(v.name), v.place, now(), now()
from option_types t cross join lateral unnest(case t.name when 'size' then array['s', 'm', 'l', 'xl']
    else array['red', 'green', 'blue', 'black', 'white', 'yellow', 'grey', 'pink'] end)
    with ordinality as v(name, place);
insert into taxonomies (id, name, created_at, updated_at) values (uuidv7(), 'Categories', now(), now())
on conflict do nothing;
insert into taxons (id, taxonomy_id, name, slug, permalink, pretty_name, lft, rgt, depth, created_at, updated_at)
select uuidv7(), id, 'Categories', 'categories', 'categories', 'Categories', 1, 42, 0, now(), now() from taxonomies
on conflict do nothing;
insert into taxons (id, taxonomy_id, parent_id, name, slug, permalink, pretty_name, lft, rgt, depth, position,
    created_at, updated_at)
select uuidv7(), r.taxonomy_id, r.id, 'Aisle ' || n, 'aisle-' || n, 'categories/aisle-' || n,
    'Categories -> Aisle ' || n, 2 * n, 2 * n + 1, 1, n, now(), now()
from taxons r cross join generate_series(1, 20) n where r.parent_id is null;
insert into properties (id, name, presentation, created_at, updated_at)
values (uuidv7(), 'material', 'Material', now(), now());
"""
_WORDS = "array['linen', 'wooden', 'quiet', 'northern', 'copper', 'soft', 'heavy', 'paper', 'winter', 'garden']"
_THINGS = "array['lamp', 'chair', 'shirt', 'mug', 'basket', 'notebook', 'blanket', 'clock', 'shelf', 'scarf']"
_PRODUCTS = f"""
insert into products (id, name, slug, description, status, tags, created_at, updated_at)
select uuidv7(), initcap(({_WORDS})[1 + n % 10] || ' ' || ({_THINGS})[1 + n / 10 % 10]) || ' ' || n, 'thing-' || n,
    'A ' || ({_THINGS})[1 + n / 10 % 10] || ' of our own making, number ' || n || ', ' || repeat('made with care ', 12),
    'active', array['tag-' || n % 50], now(), now()
from generate_series($1::bigint, $2::bigint) n
"""
_REST = """
insert into variants (id, product_id, is_master, sku, position, created_at, updated_at)
select uuidv7(), p.id, v = 0, p.slug || '-' || v, v, now(), now()
from products p cross join generate_series(0, 3) v;
insert into variant_option_values (id, variant_id, option_value_id, created_at, updated_at)
select uuidv7(), v.id, o.ids[1 + (v.position + substr(p.slug, 7)::bigint) % cardinality(o.ids)], now(), now()
from (select array_agg(id) ids from option_values group by option_type_id) o
cross join variants v join products p on p.id = v.product_id where not v.is_master;
insert into product_option_types (id, product_id, option_type_id, position, created_at, updated_at)
select uuidv7(), p.id, t.id, t.position, now(), now() from products p cross join option_types t;
insert into prices (id, variant_id, currency, amount, created_at, updated_at)
select uuidv7(), v.id, c, 500 + (substr(p.slug, 7)::bigint * 37) % 9000, now(), now()
from variants v join products p on p.id = v.product_id cross join unnest(array['USD', 'EUR']) c;
insert into stock_items (id, stock_location_id, variant_id, count_on_hand, created_at, updated_at)
select uuidv7(), l.id, v.id, (substr(p.slug, 7)::bigint + v.position) % 7, now(), now()
from variants v join products p on p.id = v.product_id join stock_locations l on l."default";
insert into classifications (id, product_id, taxon_id, position, created_at, updated_at)
select uuidv7(), p.id, t.ids[1 + substr(p.slug, 7)::bigint / step % 20], 0, now(), now()
from (select array_agg(id) ids from taxons where depth = 1) t
cross join products p cross join unnest(array[1, 20]) step on conflict do nothing;
insert into product_properties (id, product_id, property_id, value, filter_param, facet_id, created_at, updated_at)
select uuidv7(), p.id, r.id, m, m, overlay(md5(m) placing '5' from 13)::uuid, now(), now() from products p cross join properties r
cross join lateral (select (array['oak', 'wool', 'tin', 'clay', 'silk'])[1 + substr(p.slug, 7)::bigint % 5] m) m
on conflict do nothing;
insert into images (id, product_id, position, width, height, created_at, updated_at)
select uuidv7(), p.id, n, 1600, 1200, now(), now() from products p cross join generate_series(1, 2) n;
"""


def fill_catalog(url: str, count: int) -> None:
    """Inserts products into an empty shop, each with three variants, prices in two currencies, images, stock and
    taxons.
    """
    asyncio.run(_fill(url, count))


async def _fill(url: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_SETUP)
        await connection.fetch(_PRODUCTS, 1, count)
        for part in filter(str.strip, _REST.split(";")):
            # Without fresh statistics, the plan for empty tables would take hours.
            await connection.execute("analyze")
            await connection.execute(part)
        await connection.execute("analyze")
        ids: list[UUID] = [row[0] for row in await connection.fetch("select id from products")]
        refresh = product_index._REFRESH
        for start in range(0, len(ids), CHUNK):
            await connection.fetch(refresh.sql, *refresh.arguments({"ids": ids[start : start + CHUNK]}))
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
