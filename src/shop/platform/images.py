"""Image upload and deletion. These routes handle files and are not generated from a declaration."""

from collections.abc import Mapping
from typing import cast
from uuid import UUID

from shop.actions.access import oauth
from shop.actions.catalog import images
from shop.actions.context import Context
from shop.base.errors import Conflict, Invalid, NotFound
from shop.base.values import REQUIRED
from shop.models.catalog.inputs import ImageInput
from shop.platform.crud import build_document_reply, get_record_id, read_render_options
from shop.platform.field_values import read_values
from shop.platform.resources.images import IMAGES, TAXON, VARIANT, ImageUpload
from shop.rules.catalog.images import MAX_FILE_BYTES
from shop.web.endpoint import Route
from shop.web.input.request import UPLOAD, Request
from shop.web.reply import NO_CONTENT, Reply

_PATH = "/api/v2/platform/images"
_VIEWABLES = {VARIANT: "variant_id", "Spree::Product": "product_id", TAXON: "taxon_id"}
_OTHER_FIELDS_LIMIT = 64 * 1024


async def create(request: Request, ctx: Context) -> Reply:
    options = read_render_options(request, ctx, IMAGES)
    values = cast(ImageInput, read_values(request.params, IMAGES, is_new=True))
    data, owner = request.file("attachment", "image[attachment]", "file"), _read_owner(values)
    if data is None or not owner:
        owner_name = "viewable_id" if values.get("viewable_type") else "product_id"
        presence = {"attachment": data is not None, owner_name: bool(owner)}
        raise Invalid({name: [REQUIRED] for name, is_present in presence.items() if not is_present})
    image_id = await _add(ctx, owner, data, values)
    try:
        return await build_document_reply(ctx, IMAGES, options, "id", image_id, status=201)
    except NotFound:
        raise Conflict("The uploaded image has since been replaced or deleted.") from None


def _read_owner(values: ImageInput) -> dict[str, UUID]:
    """Returns the product, variant or taxon of a new image: by its own name or as Spree's `viewable`."""
    kind = values.get("viewable_type") or VARIANT
    if kind not in _VIEWABLES:
        raise Invalid({"viewable_type": [f"must be one of {', '.join(_VIEWABLES)}"]})
    ids = {
        "variant_id": values.get("variant_id"),
        "product_id": values.get("product_id"),
        "taxon_id": values.get("taxon_id"),
    }
    if viewable_id := values.get("viewable_id"):
        ids[_VIEWABLES[kind]] = viewable_id
    owner = {name: owner_id for name, owner_id in ids.items() if owner_id}
    if "taxon_id" in owner and len(owner) > 1:
        raise Invalid({"taxon_id": ["cannot be combined with a product or variant"]})
    return owner


async def _add(ctx: Context, owner: Mapping[str, UUID], data: bytes, values: ImageInput) -> UUID:
    alt, position = values.get("alt"), values.get("position")
    if "taxon_id" in owner:
        return await images.set_taxon_image(ctx, owner["taxon_id"], data, alt=alt, position=position)
    variant_id = owner.get("variant_id")
    product_id = owner.get("product_id") or await images.get_variant_product_id(ctx, owner["variant_id"])
    return await images.add_image(ctx, product_id, data, variant_id=variant_id, alt=alt, position=position)


async def delete(request: Request, ctx: Context) -> Reply:
    await oauth.authorize(ctx, "write")
    await images.remove_image(ctx, await get_record_id(ctx, IMAGES, request.path_params["id"]))
    return NO_CONTENT


async def _admit(_request: Request, ctx: Context) -> None:
    await oauth.authorize(ctx, "write")


ROUTES = (
    Route(
        "POST",
        _PATH,
        create,
        "application: write",
        "Upload an image",
        "image",
        201,
        (400, 401, 403, 409, 413, 415, 422),
        body_limit=MAX_FILE_BYTES + _OTHER_FIELDS_LIMIT,
        reads=UPLOAD,
        admits=_admit,
        takes=ImageUpload,
        codes={409: ("conflict",)},
    ),
    Route(
        "DELETE",
        f"{_PATH}/{{id}}",
        delete,
        "application: write",
        "Delete an image with its files",
        None,
        204,
        (400, 401, 403, 404, 413, 415),
    ),
)
