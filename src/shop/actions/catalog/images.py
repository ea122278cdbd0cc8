"""Adds, changes and deletes images of products, of taxons and of the shop.

    adding      validate and resize in memory  ->  mark as loose  ->  save files    ->  insert row, unmark
    removing    delete row, mark as loose      ->  delete files   ->  unmark

After a crash at any point, files either belong to a row or are marked as loose; housekeeping deletes loose files.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from shop.actions.audit import audit_change
from shop.actions.catalog.products import refresh_products
from shop.actions.catalog.taxons import lock_taxon_tree
from shop.actions.context import Context, Shared
from shop.actions.event_subjects import IMAGE
from shop.actions.events import note_change, note_deletion
from shop.actions.records import plain_values
from shop.base.errors import Invalid, NotFound, Unavailable
from shop.base.ids import new_id
from shop.models.catalog.images import Image, images
from shop.models.catalog.inputs import ImageInput, NewImageInput
from shop.models.catalog.taxons import taxons
from shop.queries import writes
from shop.queries.catalog import images as queries
from shop.rules.catalog.images import Picture, read_picture, styles_of

IMAGE_THREADS = 2
# Decoding releases the GIL. Two threads limit the memory that large images use.
_image_pool = ThreadPoolExecutor(IMAGE_THREADS, thread_name_prefix="pictures")


async def add_image(
    ctx: Context,
    product_id: UUID,
    data: bytes,
    *,
    variant_id: UUID | None = None,
    alt: str | None = None,
    position: int | None = None,
) -> UUID:
    """Adds an image to a product, last unless a position is given, in its own transaction.

    Raises Invalid on `attachment` if the bytes are not an acceptable image, and on `product_id` or `variant_id` if the
    product does not exist or has no such variant.
    """
    return await _add(ctx, data, {"product_id": product_id, "variant_id": variant_id, "alt": alt, "position": position})


async def set_taxon_image(
    ctx: Context, taxon_id: UUID, data: bytes, *, alt: str | None = None, position: int | None = None
) -> UUID:
    """Sets the image of a taxon and deletes the previous one, in its own transaction.

    Raises Invalid on `attachment` if the bytes are not an acceptable image, and on `taxon_id` if the taxon does not
    exist.
    """
    return await _add(ctx, data, {"taxon_id": taxon_id, "alt": alt, "position": position})


async def copy_image(ctx: Context, image: Image, product_id: UUID, variant_id: UUID) -> bool:
    """Copies an image and its files to another product, in its own transaction; returns whether its files exist."""
    files: dict[str, bytes] = {}
    for style in styles_of(image.width, image.height):
        data = await ctx.shared.media.find(image.id, style.name)
        if data is None:
            return False
        files[style.name] = data
    owner: NewImageInput = {"product_id": product_id, "variant_id": variant_id}
    values: NewImageInput = {**owner, "alt": image.alt, "position": image.position}
    await _add_picture(ctx, Picture(image.width, image.height, files), values)
    return True


async def _add(ctx: Context, data: bytes, values: NewImageInput) -> UUID:
    await _check_owner(ctx, values)
    return await _add_picture(ctx, await process_image(data), values)


async def _add_picture(ctx: Context, picture: Picture, values: NewImageInput) -> UUID:
    image_id = new_id()
    await save_files(ctx.shared, image_id, picture)
    obsolete_ids: list[UUID] = []
    try:
        async with ctx.transaction() as idempotency:
            if not idempotency.existing_id:
                obsolete_ids = await _insert(ctx, image_id, picture, values)
                idempotency.record(image_id)
    except Unavailable:
        # If the connection is lost at commit, the row may or may not exist. The same transaction removes the mark.
        raise
    except Exception:
        await remove_files(ctx.shared, image_id)
        raise
    for obsolete_id in [image_id] if idempotency.existing_id else obsolete_ids:
        await remove_files(ctx.shared, obsolete_id)
    return idempotency.existing_id or image_id


async def _insert(ctx: Context, image_id: UUID, picture: Picture, values: NewImageInput) -> list[UUID]:
    """Inserts the row; returns the id of the image that it replaces, whose files the caller deletes."""
    await _check_owner(ctx, values)
    previous_image = await queries.find_taxon_image(ctx.db, values["taxon_id"]) if "taxon_id" in values else None
    if previous_image:
        await _delete(ctx, previous_image.id)
    note_change(ctx, IMAGE, image_id)
    await insert_image(ctx, image_id, picture, values)
    await _refresh_owner(ctx, values.get("product_id"), values.get("taxon_id"))
    _audit_creation(ctx, image_id, values)
    return [previous_image.id] if previous_image else []


async def get_variant_product_id(ctx: Context, variant_id: UUID) -> UUID:
    """Returns the product id of a variant."""
    product_id = await queries.find_variants_product(ctx.db, variant_id)
    if product_id is None:
        raise Invalid({"variant_id": ["is not a variant"]})
    return product_id


async def process_image(data: bytes) -> Picture:
    """Decodes and resizes an image in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_image_pool, read_picture, data)


async def save_files(shared: Shared, image_id: UUID, picture: Picture) -> None:
    """Saves the files of an image, marked as loose until a row refers to them.

    Marks them outside the caller's transaction, which may roll back.
    """
    await queries.record_loose_files(shared.database.session(), image_id)
    try:
        await shared.media.save(image_id, picture.files)
    except Unavailable:
        await remove_files(shared, image_id)
        raise


async def insert_shop_image(ctx: Context, image_id: UUID, picture: Picture) -> None:
    """Inserts the row of an image of the shop, whose files are saved, in the caller's transaction."""
    values: NewImageInput = {"shop_id": ctx.shared.shop.id, "alt": None, "position": 0}
    await insert_image(ctx, image_id, picture, values)
    _audit_creation(ctx, image_id, values)


async def delete_shop_image(ctx: Context, image_id: UUID) -> None:
    """Deletes the row of an image of the shop in the caller's transaction; the caller then removes its files."""
    await _delete(ctx, image_id)


async def insert_image(ctx: Context, image_id: UUID, picture: Picture, values: NewImageInput) -> None:
    """Inserts the row of saved files in the caller's transaction."""
    await queries.insert_image(ctx.db, id=image_id, width=picture.width, height=picture.height, **values)
    await queries.delete_loose_record(ctx.db, image_id)


async def change_image(ctx: Context, image_id: UUID, values: ImageInput) -> None:
    """Changes `alt`, `position` or `variant_id` in the caller's transaction; `records.update` opens one."""
    image = await queries.find_image(ctx.db, image_id)
    if image is None:
        raise NotFound()
    fields: dict[str, object] = {**values}
    variant_id = values.get("variant_id")
    if image.product_id is None:
        if variant_id:
            raise Invalid({"variant_id": ["cannot be set for a taxon image"]})
    elif variant_id:
        await _check_variant(ctx, image.product_id, variant_id)
    elif "variant_id" in values:
        fields["variant_id"] = await queries.get_master_id(ctx.db, image.product_id)
    await writes.update_record(ctx.db, images, image_id, fields)
    await _refresh_owner(ctx, image.product_id, image.taxon_id)


async def lock_owner(ctx: Context, image_id: UUID) -> None:
    """Locks the taxon tree of an image before the image, in the same order as deleting the taxon. Raises NotFound for
    an image of the shop, which only its settings change.
    """
    image = await queries.find_image(ctx.db, image_id)
    if image is None or image.shop_id is not None:
        raise NotFound()
    if image.taxon_id:
        await lock_taxon_tree(ctx, image.taxon_id)


async def remove_image(ctx: Context, image_id: UUID) -> None:
    """Deletes the row in its own transaction, then the files."""
    async with ctx.db.transaction():
        await lock_owner(ctx, image_id)
        image = await _delete(ctx, image_id)
        await _refresh_owner(ctx, image.product_id, image.taxon_id)
    await remove_files(ctx.shared, image_id)


async def _delete(ctx: Context, image_id: UUID) -> Image:
    image = await queries.delete_image(ctx.db, image_id)
    if image is None:
        raise NotFound()
    if image.shop_id is None:
        note_deletion(ctx, IMAGE, image)
    audit_change(ctx, "image_deleted", IMAGE.type, image_id)
    await queries.record_loose_files(ctx.db, image_id)
    return image


async def _refresh_owner(ctx: Context, product_id: UUID | None, taxon_id: UUID | None) -> None:
    if product_id:
        await refresh_products(ctx, [product_id])
    if taxon_id:
        # Updates `updated_at`.
        await writes.update_record(ctx.db, taxons, taxon_id, {})


async def delete_loose_files(shared: Shared, most: int) -> int:
    """Deletes files left behind by interrupted work; returns the number of images deleted."""
    count = 0
    for image_id in await queries.list_loose_files(shared.database.session(), most):
        # Stop if the file store is unavailable: e-mails wait until this housekeeping run ends.
        if not await remove_files(shared, image_id):
            break
        count += 1
    return count


async def remove_files(shared: Shared, image_id: UUID) -> bool:
    """Deletes the files of an image. Returns False, and keeps the loose mark, if the store is unavailable."""
    try:
        await shared.media.remove(image_id)
        await queries.delete_loose_record(shared.database.session(), image_id)
    except Unavailable:
        return False
    return True


async def _check_owner(ctx: Context, values: NewImageInput) -> None:
    """Raises Invalid unless the product and variant, or the taxon, exist; locks them in a transaction."""
    if "product_id" in values:
        await _check_variant(ctx, values["product_id"], values["variant_id"])
        return
    try:
        await lock_taxon_tree(ctx, values["taxon_id"])
    except NotFound:
        raise Invalid({"taxon_id": ["is not a taxon"]}) from None


async def _check_variant(ctx: Context, product_id: UUID, variant_id: UUID | None) -> None:
    if await queries.lock_product(ctx.db, product_id) is None:
        raise Invalid({"product_id": ["is not a product"]})
    if variant_id and await queries.find_variants_product(ctx.db, variant_id) != product_id:
        raise Invalid({"variant_id": ["is not a variant of this product"]})


def _audit_creation(ctx: Context, image_id: UUID, values: NewImageInput) -> None:
    changes = {name: (None, value) for name, value in plain_values(values).items()}
    audit_change(ctx, "image_created", IMAGE.type, image_id, changes=changes)
