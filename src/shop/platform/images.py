"""The two addresses of pictures that no declaration makes: a file comes in, and files go with the record."""

from collections.abc import Mapping
from typing import Any

from shop.actions import media, oauth
from shop.actions.context import Context
from shop.base.errors import Invalid
from shop.platform.crud import document_of, found_id, read_drawing
from shop.platform.resources.media import IMAGES, VIEWABLE, NewImage
from shop.platform.values import read_values
from shop.rules.pictures import LARGEST_FILE
from shop.web.endpoint import Route
from shop.web.reply import NO_CONTENT, Reply
from shop.web.request import UPLOAD, Request

_PATH = "/api/v2/platform/images"
_VIEWABLES = {VIEWABLE: "variant_id", "Spree::Product": "product_id"}
_BESIDE_THE_FILE = 64 * 1024


async def create(request: Request, ctx: Context) -> Reply:
    drawing = read_drawing(request, ctx, IMAGES)
    values = read_values(request.params, IMAGES, is_new=True)
    data = request.file("attachment", "image[attachment]", "file")
    product_id, variant_id = _read_owner(values)
    if data is None or not (product_id or variant_id):
        given = {"attachment": data is not None, "product_id": bool(product_id or variant_id)}
        raise Invalid({name: ["must be given"] for name, is_given in given.items() if not is_given})
    image_id = await media.add_image(
        ctx,
        product_id or await media.owner_of(ctx, variant_id),
        data,
        variant_id=variant_id,
        alt=values.get("alt"),
        position=values.get("position"),
    )
    return await document_of(ctx, IMAGES, drawing, "id", image_id, status=201)


def _read_owner(values: Mapping[str, Any]) -> tuple[Any, Any]:
    """The product and the variant of a new image: by their own names, or as Spree's `viewable`."""
    kind, viewable_id = values.get("viewable_type") or VIEWABLE, values.get("viewable_id")
    if kind not in _VIEWABLES:
        raise Invalid({"viewable_type": [f"must be one of {', '.join(_VIEWABLES)}"]})
    owner = {"product_id": values.get("product_id"), "variant_id": values.get("variant_id")}
    if viewable_id:
        owner[_VIEWABLES[kind]] = viewable_id
    return owner["product_id"], owner["variant_id"]


async def delete(request: Request, ctx: Context) -> Reply:
    await oauth.admit(ctx, "write")
    await media.remove_image(ctx, await found_id(ctx, IMAGES, request.path_params["id"]))
    return NO_CONTENT


async def _admit(_request: Request, ctx: Context) -> None:
    await oauth.admit(ctx, "write")


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
        body_limit=LARGEST_FILE + _BESIDE_THE_FILE,
        reads=UPLOAD,
        admits=_admit,
        takes=NewImage,
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
