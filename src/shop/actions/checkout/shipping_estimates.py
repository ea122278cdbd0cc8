"""Estimates the shipping costs of one product before there is a cart."""

from decimal import Decimal

from shop.actions.context import Context
from shop.base.values import NO_RECORD
from shop.models.catalog.products import Product, Variant
from shop.models.setup.taxes import DEFAULT_SHIPPING_CATEGORY
from shop.queries.checkout import shipments
from shop.rules.setup.shipping import Offer, Package, PackageItem, list_offers


async def estimate_shipping(ctx: Context, product: Product, variant: Variant) -> list[Offer]:
    """Returns the offers for one unit to the shop's own country in its first currency, cheapest first."""
    shop = ctx.shared.shop
    methods = await shipments.list_methods_to(ctx.db, shop.default_country, shop.currencies[0])
    item = PackageItem(variant.id, variant.id, 1, False, variant.weight or Decimal(0), None)
    category_id = product.shipping_category_id or DEFAULT_SHIPPING_CATEGORY
    return list_offers(Package(NO_RECORD, category_id, False, [item]), methods)
