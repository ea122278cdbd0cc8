"""What is done with pictures: added, changed, removed.

    adding      check and resize in memory  ->  noted as loose  ->  files  ->  row, no longer loose
    removing    row gone, noted as loose    ->  files gone      ->  no longer loose

Wherever a crash ends this, the files are a picture's or noted as loose, and housekeeping removes those.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.catalog.products import refresh
from shop.actions.catalog.taxons import hold_tree
from shop.actions.context import Context, Shared
from shop.base.errors import Invalid, NotFound, Unavailable
from shop.base.ids import new_id
from shop.models.catalog.images import Image, images
from shop.models.catalog.taxons import taxons
from shop.queries import writes
from shop.queries.catalog import images as queries
from shop.rules.catalog.images import Picture, read_picture

Values = Mapping[str, Any]
EASELS = 2
# Decoding lets go of the interpreter; more than two at once would take the memory of many large pictures.
_PAINTERS = ThreadPoolExecutor(EASELS, thread_name_prefix="pictures")


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

    In a transaction of its own. Invalid names `attachment` when the bytes are no acceptable picture, `product_id` or
    `variant_id` when there is no such product or it has no such variant.
    """
    values = {"product_id": product_id, "variant_id": variant_id, "alt": alt, "position": position}
    return await _add(ctx, data, values)


async def set_taxon_image(
    ctx: Context, taxon_id: UUID, data: bytes, *, alt: str | None = None, position: int | None = None
) -> UUID:
    """Stores the image of a taxon and deletes the one that it had, in a transaction of its own.

    Invalid names `attachment` when the bytes are no acceptable picture, `taxon_id` when there is no such taxon.
    """
    return await _add(ctx, data, {"taxon_id": taxon_id, "alt": alt, "position": position})


async def _add(ctx: Context, data: bytes, values: Values) -> UUID:
    await _check_owner(ctx, values)
    image_id, picture = new_id(), await draw(data)
    await save_files(ctx.shared, image_id, picture)
    unused: list[UUID] = []
    try:
        async with ctx.transaction() as once:
            if not once.done:
                unused = await _insert(ctx, image_id, picture, values)
                once.made(image_id)
    except Unavailable:
        # A connection lost at the end leaves open whether the row is kept; whether the files are loose is kept with it.
        raise
    except Exception:
        await _remove_files(ctx.shared, image_id)
        raise
    for unused_id in [image_id] if once.done else unused:
        await _remove_files(ctx.shared, unused_id)
    return once.done or image_id


async def _insert(ctx: Context, image_id: UUID, picture: Picture, values: Values) -> list[UUID]:
    """Inserts the row; returns the id of the image that it replaces, whose files are to be removed."""
    await _check_owner(ctx, values)
    replaced = await queries.find_taxon_image(ctx.db, values["taxon_id"]) if "taxon_id" in values else None
    if replaced:
        await _delete(ctx, replaced.id)
    await insert_image(ctx, image_id, picture, values)
    await _refresh_owner(ctx, values.get("product_id"), values.get("taxon_id"))
    await audit(ctx, "image_created", "done", subject_id=image_id, detail={"values": _plain(values)})
    return [replaced.id] if replaced else []


async def owner_of(ctx: Context, variant_id: UUID) -> UUID:
    """The product of a variant that is to have a picture."""
    found = await queries.find_variants_product(ctx.db, variant_id)
    if found is None:
        raise Invalid({"variant_id": ["is not a variant"]})
    return found


async def draw(data: bytes) -> Picture:
    """The picture in its sizes, worked on beside the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_PAINTERS, read_picture, data)


async def save_files(shared: Shared, image_id: UUID, picture: Picture) -> None:
    """Loose until a row speaks of them. Noted apart from the caller's work, which may fail."""
    await queries.note_loose(shared.database.session(), image_id)
    try:
        await shared.media.save(image_id, picture.files)
    except Unavailable:
        await _remove_files(shared, image_id)
        raise


async def insert_image(ctx: Context, image_id: UUID, picture: Picture, values: Values) -> None:
    """The row of files that were saved; inside the caller's transaction."""
    await queries.insert_image(ctx.db, id=image_id, width=picture.width, height=picture.height, **values)
    await queries.forget_loose(ctx.db, image_id)


async def change_image(ctx: Context, image_id: UUID, values: Values) -> None:
    """`alt`, `position` or `variant_id`; inside the caller's transaction, as records.update opens one."""
    image = await queries.find_image(ctx.db, image_id)
    if image is None:
        raise NotFound()
    if image.product_id is None:
        if values.get("variant_id"):
            raise Invalid({"variant_id": ["cannot be given to the image of a taxon"]})
    elif values.get("variant_id"):
        await _check_variant(ctx, image.product_id, values["variant_id"])
    elif "variant_id" in values:
        values = {**values, "variant_id": await queries.get_master_id(ctx.db, image.product_id)}
    await writes.update_record(ctx.db, images, image_id, values)
    await _refresh_owner(ctx, image.product_id, image.taxon_id)


async def lock_owner(ctx: Context, image_id: UUID) -> None:
    """Locks the tree of an image's taxon before the image, as deleting the taxon does."""
    image = await queries.find_image(ctx.db, image_id)
    if image is None:
        raise NotFound()
    if image.taxon_id:
        await hold_tree(ctx, image.taxon_id)


async def remove_image(ctx: Context, image_id: UUID) -> None:
    """The row and then the files; in a transaction of its own."""
    async with ctx.db.transaction():
        await lock_owner(ctx, image_id)
        image = await _delete(ctx, image_id)
        await _refresh_owner(ctx, image.product_id, image.taxon_id)
    await _remove_files(ctx.shared, image_id)


async def _delete(ctx: Context, image_id: UUID) -> Image:
    image = await queries.take_image(ctx.db, image_id)
    if image is None:
        raise NotFound()
    await audit(ctx, "image_deleted", "done", subject_id=image_id)
    await queries.note_loose(ctx.db, image_id)
    return image


async def _refresh_owner(ctx: Context, product_id: UUID | None, taxon_id: UUID | None) -> None:
    if product_id:
        await refresh(ctx, [product_id])
    if taxon_id:
        # Sets its `updated_at`.
        await writes.update_record(ctx.db, taxons, taxon_id, {})


async def remove_loose(shared: Shared, most: int) -> int:
    """What work that broke off has left behind; the number of pictures it was to be."""
    count = 0
    for image_id in await queries.list_loose(shared.database.session(), most):
        # While the store is away nothing can be removed, and mails wait for this round to end.
        if not await _remove_files(shared, image_id):
            break
        count += 1
    return count


async def _remove_files(shared: Shared, image_id: UUID) -> bool:
    """Whether they are gone; those that cannot be reached now stay noted."""
    try:
        await shared.media.remove(image_id)
        await queries.forget_loose(shared.database.session(), image_id)
    except Unavailable:
        return False
    return True


async def _check_owner(ctx: Context, values: Values) -> None:
    """Raises unless the product with its variant, or the taxon, exists; locks it in a transaction."""
    if "product_id" in values:
        await _check_variant(ctx, values["product_id"], values["variant_id"])
        return
    try:
        await hold_tree(ctx, values["taxon_id"])
    except NotFound:
        raise Invalid({"taxon_id": ["is not a taxon"]}) from None


async def _check_variant(ctx: Context, product_id: UUID, variant_id: UUID | None) -> None:
    if await queries.lock_product(ctx.db, product_id) is None:
        raise Invalid({"product_id": ["is not a product"]})
    if variant_id and await queries.find_variants_product(ctx.db, variant_id) != product_id:
        raise Invalid({"variant_id": ["is not a variant of this product"]})


def _plain(values: Values) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, UUID) else value for name, value in values.items()}
