"""What operators do with a product's pictures: add several, describe and order them."""

from collections.abc import Sequence
from uuid import UUID

from shop.actions import records
from shop.actions.catalog import images
from shop.actions.catalog.resources import IMAGE
from shop.actions.catalog_forms.products import lock_product
from shop.actions.context import Context
from shop.base.errors import Invalid, NotFound
from shop.models.catalog.images import Image
from shop.queries.catalog import images as media_queries


async def add_images(ctx: Context, product_id: UUID, files: Sequence[bytes], *, alt: str | None) -> list[str]:
    """Each is kept by itself; what is wrong with the others, a sentence each."""
    wrong = []
    for number, data in enumerate(files, 1):
        try:
            await images.add_image(ctx, product_id, data, alt=alt)
        except Invalid as refused:
            said = " ".join(sentence for sentences in refused.errors.values() for sentence in sentences)
            wrong.append(f"File {number} {said}.")
    return wrong


async def get_image(ctx: Context, product_id: UUID, image_id: UUID) -> Image:
    found = [image for image in await media_queries.list_images(ctx.db, product_id) if image.id == image_id]
    if not found:
        raise NotFound()
    return found[0]


async def shift(ctx: Context, product_id: UUID, image_id: UUID, steps: int) -> None:
    """Up or down among the product's pictures; the first is the one that lists show."""
    async with ctx.db.transaction():
        await lock_product(ctx, product_id)
        order = [image.id for image in await media_queries.list_images(ctx.db, product_id)]
        if image_id not in order:
            raise NotFound()
        wanted = min(max(order.index(image_id) + steps, 0), len(order) - 1)
        order.remove(image_id)
        order.insert(wanted, image_id)
        for position, other_id in enumerate(order, 1):
            await records.change(ctx, IMAGE, other_id, {"position": position})
