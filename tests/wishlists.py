"""Writes wishlists with many items, and users with many wishlists, to the database: over HTTP it takes long."""

from typing import Any
from uuid import uuid4


async def add_lists(db: Any, user_id: Any, count: int) -> None:
    await db.execute(
        "insert into wishlists (id, user_id, token, name, created_at, updated_at)"
        " select gen_random_uuid(), $1, $2 || number, 'one of many', now(), now() from generate_series(1, $3) number",
        user_id,
        uuid4().hex,
        count,
    )


async def add_items(db: Any, list_id: Any, product_id: Any, count: int) -> None:
    """Adds deleted variants, which count like any other item."""
    rows = await db.fetch(
        "insert into variants (id, product_id, sku, deleted_at, created_at, updated_at)"
        " select gen_random_uuid(), $1, '', now(), now(), now() from generate_series(1, $2) returning id",
        product_id,
        count,
    )
    await db.execute(
        "insert into wished_items (id, wishlist_id, variant_id, created_at, updated_at)"
        " select gen_random_uuid(), $1, variant_id, now(), now() from unnest($2::uuid[]) variant_id",
        list_id,
        [row["id"] for row in rows],
    )
