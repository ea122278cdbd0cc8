"""What is done with pictures: added, changed, removed; files and rows never part for long."""

from typing import Any
from uuid import UUID

from shop.actions.context import Context

Values = Any


async def add_image(
    ctx: Context,
    product_id: UUID,
    data: bytes,
    *,
    variant_id: UUID | None = None,
    alt: str | None = None,
    position: int | None = None,
) -> UUID:
    """A product's picture from the bytes that were sent; last of its pictures unless a position is given.

    In a transaction of its own. Invalid names `attachment` when the bytes are not an acceptable picture, `product_id` or
    `variant_id` when there is no such product or it has no such variant.
    """
    raise NotImplementedError


async def change_image(ctx: Context, image_id: UUID, values: Values) -> None:
    """`alt`, `position` or `variant_id`; inside the caller's transaction, as records.update opens one."""
    raise NotImplementedError


async def remove_image(ctx: Context, image_id: UUID) -> None:
    """The row and then the files; in a transaction of its own."""
    raise NotImplementedError
