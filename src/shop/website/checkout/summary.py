"""The lines and sums of a cart or order, as pages show them."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec

from shop.actions.cart.locked_carts import get_pricing
from shop.actions.catalog import storefront
from shop.actions.context import Context
from shop.base.record import Record
from shop.models.cart.orders import CartLine, Order
from shop.models.catalog.images import Image
from shop.rules.cart.line_items import CartWarning

_BEFORE_DELIVERY = frozenset({"cart", "address"})
_WITH_IMAGES: storefront.Tree = {"images": {}, "product": {"images": {}}}


class CartRow(msgspec.Struct, frozen=True):
    """A line of a cart or order with its image and its warnings."""

    line: CartLine
    image: Image | None
    url: str | None
    """The product page; None if the product no longer exists."""
    warnings: Sequence[CartWarning] = ()


async def load_rows(
    ctx: Context, order: Order, lines: Sequence[CartLine], warnings: Sequence[CartWarning] = ()
) -> list[CartRow]:
    """Loads the images of lines; the number of statements does not depend on the number of lines."""
    if not lines:
        return []
    variants = await storefront.load_variants(
        ctx, [line.variant_id for line in lines], _WITH_IMAGES, await get_pricing(ctx, order)
    )
    return [_build_row(line, variants, warnings) for line in lines]


def _build_row(line: CartLine, variants: Mapping[UUID, Record], warnings: Sequence[CartWarning]) -> CartRow:
    record = variants.get(line.variant_id)
    own_warnings = [warning for warning in warnings if warning.line_item_id == line.id]
    if record is None:
        return CartRow(line, None, None, own_warnings)
    url = f"/products/{line.slug}?variant={line.variant_id}" if record.row.options else f"/products/{line.slug}"
    return CartRow(line, _find_image(record), url, own_warnings)


def _find_image(variant: Record) -> Image | None:
    """Returns the first image of the variant, or else of its product."""
    product = variant.links["product"]
    product_images = product.links["images"] if isinstance(product, Record) else None
    for images in (variant.links["images"], product_images):
        rows = [record.row for record in images] if isinstance(images, list) else []
        image = next((row for row in rows if isinstance(row, Image)), None)
        if image is not None:
            return image
    return None


def build_sums(order: Order) -> list[tuple[str, int | None]]:
    """Returns the sums that make up the total; shipping without an amount is not known yet."""
    has_shipping = order.state not in _BEFORE_DELIVERY
    discounts = [(_discount_label(entry), int(entry["amount"])) for entry in order.promoted.values()]
    tax = order.additional_tax_total
    sum_of_parts = order.item_total + order.ship_total + sum(amount for _, amount in discounts) + tax
    sums: list[tuple[str, int | None]] = [("Subtotal", order.item_total)]
    sums.append(("Shipping", order.ship_total if has_shipping else None))
    sums += [*discounts, *([("Tax", tax)] if tax else [])]
    return [*sums, ("Adjustment", order.total - sum_of_parts)] if order.total != sum_of_parts else sums


def _discount_label(entry: Mapping[str, object]) -> str:
    code = entry.get("code")
    return f"{entry['name']} ({str(code).upper()})" if code else str(entry["name"])
