"""Product image forms: add several images and reorder them."""

from collections.abc import Sequence
from uuid import UUID

from shop.actions import records
from shop.actions.catalog import images
from shop.actions.catalog.resources import IMAGE
from shop.actions.catalog_admin.products import lock_product
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.catalog.images import Image
from shop.queries.catalog import images as image_queries


async def add_images(
    ctx: Context, product_id: UUID, files: Sequence[bytes], *, alt: str | None, variant_id: UUID | None = None
) -> list[str]:
    """Adds each image in its own transaction; returns one error message per rejected file."""
    messages = []
    for number, data in enumerate(files, 1):
        try:
            await images.add_image(ctx, product_id, data, alt=alt, variant_id=variant_id)
        except Invalid as error:
            message = " ".join(sentence for sentences in error.errors.values() for sentence in sentences)
            messages.append(f"File {number} {message}.")
    return messages


async def get_image(ctx: Context, product_id: UUID, image_id: UUID) -> Image:
    matches = [image for image in await image_queries.list_images(ctx.db, product_id) if image.id == image_id]
    if not matches:
        raise NotFound()
    return matches[0]


async def shift(ctx: Context, product_id: UUID, image_id: UUID, steps: int) -> None:
    """Moves an image up or down; lists show the first image."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        image_ids = [image.id for image in await image_queries.list_images(ctx.db, product_id)]
        if image_id not in image_ids:
            raise NotFound()
        index = min(max(image_ids.index(image_id) + steps, 0), len(image_ids) - 1)
        image_ids.remove(image_id)
        image_ids.insert(index, image_id)
        for position, other_id in enumerate(image_ids, 1):
            await records.change(ctx, IMAGE, other_id, {"position": position})
