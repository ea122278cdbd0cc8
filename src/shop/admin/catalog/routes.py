"""Dashboard routes of the catalog: products, taxons, stock, price lists and customer groups."""

from shop.admin.catalog import (
    price_list_entries,
    price_lists,
    price_preview,
    product_images,
    product_placements,
    product_prices,
    product_variants,
    products,
    stock,
    stock_locations,
    taxon_images,
    taxons,
)
from shop.admin.customers import groups as customer_groups
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_PRODUCT = "/admin/products/{product_id}"
_VARIANT = _PRODUCT + "/variants/{variant_id}"
_IMAGE = _PRODUCT + "/images/{image_id}"
_TAXON = "/admin/taxons/{taxon_id}"
_ITEM = "/admin/stock/{item_id}"
_LOCATION = "/admin/stock/locations/{location_id}"
_LIST = "/admin/price-lists/{list_id}"
_GROUP = "/admin/customer-groups/{group_id}"
# Enough for a price table of a hundred variants in ten currencies, with two fields per cell.
_LARGE, _MANY = 512 * 1024, 2500


def catalog_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    return (
        *_product_routes(builder),
        *_variant_routes(builder),
        *_product_part_routes(builder),
        *_taxon_routes(builder),
        *_stock_routes(builder.of("stock")),
        *_price_list_routes(builder),
        *_customer_group_routes(builder.of("customers")),
    )


def _product_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/products", products.listing, "Products"),
        act(f"{_PRODUCT}/archive", products.archive, "Archive a product"),
        page(f"{_PRODUCT}/delete", products.show_delete, "Delete a product?"),
        act(f"{_PRODUCT}/delete", products.delete, "Delete a product"),
    )


def _variant_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(f"{_PRODUCT}/variants", product_variants.show, "A product's options and variants"),
        act(f"{_PRODUCT}/options", product_variants.change_options, "Change a product's options"),
        act(f"{_PRODUCT}/variants", product_variants.add, "Add a variant"),
        act(f"{_PRODUCT}/variants/generate", product_variants.generate, "Create all combinations", most_params=1000),
        page(_VARIANT, product_variants.show_one, "One variant"),
        act(_VARIANT, product_variants.change_one, "Change a variant"),
        page(f"{_VARIANT}/remove", product_variants.show_remove, "Remove a variant?"),
        act(f"{_VARIANT}/remove", product_variants.remove, "Remove a variant"),
    )


def _product_part_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(f"{_PRODUCT}/prices", product_prices.show, "A product's prices"),
        act(
            f"{_PRODUCT}/prices",
            product_prices.change,
            "Change a product's prices",
            body_limit=_LARGE,
            most_params=_MANY,
        ),
        page(f"{_PRODUCT}/images", product_images.show, "A product's images"),
        builder.upload(f"{_PRODUCT}/images", product_images.add, "Add images"),
        act(_IMAGE, product_images.change, "Change an image's description"),
        act(f"{_IMAGE}/up", product_images.up, "Move an image up"),
        act(f"{_IMAGE}/down", product_images.down, "Move an image down"),
        act(f"{_IMAGE}/remove", product_images.remove, "Delete an image"),
        page(f"{_PRODUCT}/places", product_placements.show, "A product's categories and properties"),
        act(f"{_PRODUCT}/taxons", product_placements.change_taxons, "Change a product's categories", most_params=2000),
        act(
            f"{_PRODUCT}/properties",
            product_placements.change_properties,
            "Change a product's properties",
            most_params=500,
        ),
    )


def _taxon_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/taxons", taxons.show, "Categories"),
        act("/admin/taxons", taxons.create_tree, "Create a category tree"),
        act("/admin/taxons/add", taxons.add, "Add a category"),
        page(_TAXON, taxons.show_one, "One category"),
        act(_TAXON, taxons.change_one, "Change a category"),
        act(f"{_TAXON}/up", taxons.up, "Move a category up"),
        act(f"{_TAXON}/down", taxons.down, "Move a category down"),
        builder.upload(f"{_TAXON}/image", taxon_images.upload, "Upload the image of a category"),
        act(f"{_TAXON}/image/alt", taxon_images.change, "Describe the image of a category"),
        act(f"{_TAXON}/image/remove", taxon_images.remove, "Delete the image of a category"),
        page(f"{_TAXON}/remove", taxons.show_remove, "Remove a category?"),
        act(f"{_TAXON}/remove", taxons.remove, "Remove a category"),
    )


def _stock_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/stock", stock.listing, "Stock"),
        page("/admin/stock/new", stock.new, "New stock movement"),
        act("/admin/stock/new", stock.create, "Record a stock movement"),
        page("/admin/stock/locations", stock_locations.listing, "Stock locations"),
        act("/admin/stock/locations", stock_locations.create, "Create a stock location"),
        page(_LOCATION, stock_locations.show, "One stock location"),
        act(_LOCATION, stock_locations.change, "Change a stock location"),
        page(_ITEM, stock.show, "One stock item with its ledger"),
        act(_ITEM, stock.move, "Record a movement of a stock item"),
        act(f"{_ITEM}/backorder", stock.change, "Change whether a stock item is backorderable"),
    )


def _price_list_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/price-lists", price_lists.listing, "Price lists"),
        page("/admin/price-lists/preview", price_preview.show, "Preview as customer"),
        page("/admin/price-lists/new", price_lists.new, "New price list"),
        act("/admin/price-lists/new", price_lists.create, "Create a price list"),
        page(_LIST, price_lists.show, "One price list"),
        act(_LIST, price_lists.change, "Change a price list"),
        page(f"{_LIST}/delete", price_lists.show_delete, "Delete a price list?"),
        act(f"{_LIST}/delete", price_lists.delete, "Delete a price list"),
        page(f"{_LIST}/entries", price_list_entries.show, "The prices of a list"),
        act(f"{_LIST}/entries", price_list_entries.change, "Change the prices of a list"),
        act(f"{_LIST}/entries/add", price_list_entries.add, "Add a price to a list"),
        act(f"{_LIST}/entries/paste", price_list_entries.paste, "Paste prices into a list", body_limit=_LARGE),
        page(f"{_LIST}/customers", price_lists.show_customers, "The customers of a price list"),
        act(f"{_LIST}/customers", price_lists.assign, "Assign a price list to customers", body_limit=_LARGE),
        act(f"{_LIST}/customers/{{link_id}}/remove", price_lists.unassign, "Remove a price list from a customer"),
        act(f"{_LIST}/groups", price_lists.change_groups, "Change the groups of a price list", most_params=_MANY),
    )


def _customer_group_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/customer-groups", customer_groups.listing, "Customer groups"),
        act("/admin/customer-groups", customer_groups.create, "Create a customer group"),
        page(_GROUP, customer_groups.show, "One customer group"),
        act(_GROUP, customer_groups.change, "Change a customer group"),
        act(f"{_GROUP}/members", customer_groups.add_members, "Add customers to a group", body_limit=_LARGE),
        act(f"{_GROUP}/members/{{link_id}}/remove", customer_groups.remove_member, "Remove a customer from a group"),
        page(f"{_GROUP}/delete", customer_groups.show_delete, "Delete a customer group?"),
        act(f"{_GROUP}/delete", customer_groups.delete, "Delete a customer group"),
    )
