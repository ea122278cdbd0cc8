"""Fetches the images that a product file links to, from public addresses only and within limits.

A product that had images before the import keeps them and gets no others. One that the import created continues after
the images that it has, so that an import that was interrupted adds none twice.
"""

from collections.abc import Sequence
from functools import partial

from shop.actions.catalog.images import add_image
from shop.actions.context import Context, Shared
from shop.base.actor import Actor
from shop.base.errors import Invalid
from shop.gateways.safe_http import SafeHttpClient
from shop.models.imports.csv_imports import CsvImport, CsvLineError
from shop.queries.imports import csv_images as queries
from shop.queries.imports.csv_imports import extend_lease
from shop.rules.catalog.images import MAX_FILE_BYTES
from shop.rules.imports.csv_products import CsvRecord
from shop.rules.outgoing_urls import address_error, url_error


async def import_images(shared: Shared, row: CsvImport, records: Sequence[CsvRecord]) -> list[CsvLineError]:
    """Adds the images of a batch of products; returns those that could not be fetched."""
    with_images = {str(record.value["slug"]): record for record in records if record.images}
    if not with_images:
        return []
    is_try_out = shared.is_try_out
    client = SafeHttpClient(partial(url_error, is_try_out=is_try_out), partial(address_error, is_try_out=is_try_out))
    errors: list[CsvLineError] = []
    try:
        for slug, product in (await queries.find_products(shared.database.session(), list(with_images))).items():
            record, count = with_images[slug], product.image_count
            if count and product.created_at < row.created_at:
                continue
            await extend_lease(shared.database.session(), row.id)
            for url, alt in record.images[count:]:
                ctx = Context(shared)
                ctx.actor = Actor("operator", row.operator_id)
                try:
                    await add_image(ctx, product.id, await _fetch(client, url), alt=alt or None)
                except Invalid as error:
                    reasons = [text for texts in error.errors.values() for text in texts]
                    errors.append(CsvLineError(record.line, slug, f"image {url[:200]} {'; '.join(reasons)}"))
    finally:
        await client.close()
    return errors


async def _fetch(client: SafeHttpClient, url: str) -> bytes:
    result = await client.send("GET", url, read_limit=MAX_FILE_BYTES, body_limit=MAX_FILE_BYTES)
    if result.error:
        raise Invalid({"image": [f"cannot be fetched: {result.error}"]})
    if result.status != 200:
        raise Invalid({"image": [f"cannot be fetched: the server answered {result.status}"]})
    if not result.is_complete:
        raise Invalid({"image": [f"is larger than {MAX_FILE_BYTES // 1024 // 1024} MiB"]})
    return result.body
