"""Fetches the images that a product file links to, from public addresses only and within limits.

A product that had images before the import keeps them and gets no others. The position of an image is that of its link,
so that an import that was interrupted adds only the images that are missing.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec

from shop.actions.catalog.images import add_image
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.gateways.safe_http import SafeHttpClient
from shop.models.imports.csv_imports import CsvLineError
from shop.queries.imports import csv_images as queries
from shop.queries.imports.csv_images import ProductImages
from shop.rules.catalog.images import MAX_FILE_BYTES
from shop.rules.imports.csv_products import MAX_IMAGES, CsvImage, CsvRecord
from shop.rules.outgoing_urls import address_error, url_error

_TOO_MANY = f"has more than {MAX_IMAGES} images; the others are left out"


class ImageImport(msgspec.Struct, frozen=True):
    """The import that adds images: who runs it, since when, and what to do before each one."""

    ctx: Context
    started_at: datetime
    extend_lease: Callable[[], Awaitable[None]]


async def import_images(source: ImageImport, records: Sequence[CsvRecord]) -> list[CsvLineError]:
    """Adds the images of a batch of products; returns those that could not be fetched."""
    with_images = {str(record.value["slug"]): record for record in records if record.images}
    if not with_images:
        return []
    db, is_try_out = source.ctx.with_new_session().db, source.ctx.shared.is_try_out
    products = await queries.find_products(db, list(with_images))
    variant_ids = await queries.find_variants(db, [product.id for product in products.values()])
    client = SafeHttpClient(partial(url_error, is_try_out=is_try_out), partial(address_error, is_try_out=is_try_out))
    errors: list[CsvLineError] = []
    try:
        for slug, product in products.items():
            if not product.positions or product.created_at >= source.started_at:
                errors += await _add_images(source, client, product, with_images[slug], variant_ids)
    finally:
        await client.close()
    return errors


async def _add_images(
    source: ImageImport,
    client: SafeHttpClient,
    product: ProductImages,
    record: CsvRecord,
    variant_ids: dict[tuple[UUID, str], UUID],
) -> list[CsvLineError]:
    errors: list[CsvLineError] = []
    if len(record.images) > MAX_IMAGES:
        errors.append(CsvLineError(record.line, product.slug, _TOO_MANY))
    latest: tuple[str, bytes] = ("", b"")
    for position, image in enumerate(record.images[:MAX_IMAGES], 1):
        if position in product.positions:
            continue
        await source.extend_lease()
        try:
            # Variants with the same image are in sequence.
            latest = latest if latest[0] == image.url else (image.url, await _fetch(client, image.url))
            variant_id = variant_ids.get((product.id, image.sku)) if image.sku else None
            await _save(source, product, image, latest[1], position=position, variant_id=variant_id)
        except Invalid as error:
            reasons = [text for texts in error.errors.values() for text in texts]
            errors.append(CsvLineError(record.line, product.slug, f"image {image.url[:200]} {'; '.join(reasons)}"))
    return errors


async def _save(
    source: ImageImport, product: ProductImages, image: CsvImage, data: bytes, *, position: int, variant_id: UUID | None
) -> None:
    ctx = source.ctx.with_new_session()
    await add_image(ctx, product.id, data, variant_id=variant_id, alt=image.alt or None, position=position)


async def _fetch(client: SafeHttpClient, url: str) -> bytes:
    result = await client.send("GET", url, read_limit=MAX_FILE_BYTES, body_limit=MAX_FILE_BYTES)
    if result.error:
        raise Invalid({"image": [f"cannot be fetched: {result.error}"]})
    if result.status != 200:
        raise Invalid({"image": [f"cannot be fetched: the server answered {result.status}"]})
    if not result.is_complete:
        raise Invalid({"image": [f"is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB"]})
    return result.body
