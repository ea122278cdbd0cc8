"""Platform resources of stock: locations, items and movements."""

from shop.actions.catalog import resources
from shop.jsonapi.resource import computed, one, resource
from shop.models.catalog.inputs import StockItemInput, StockLocationInput, StockMovementInput
from shop.models.catalog.stock import StockItem, StockLocation, StockMovement
from shop.platform.collection import Collection, kinds

_STAMPS = ("created_at", "updated_at")
_METADATA = ("public_metadata", "private_metadata")
_PLACE = (
    "name",
    "admin_name",
    "default",
    "address1",
    "address2",
    "city",
    "state_name",
    "zipcode",
    "phone",
    "active",
    "backorderable_default",
)

STOCK_LOCATION = resource(
    "stock_location", StockLocation, attributes=[*_PLACE, *_STAMPS], relations=[one("country", "country")]
)
STOCK_LOCATIONS = Collection(
    path="stock_locations",
    access="stock",
    resource=STOCK_LOCATION,
    actions=resources.STOCK_LOCATION,
    writable=kinds(StockLocationInput),
    required=("name",),
    filters=("name", "active", "default"),
)
STOCK_ITEM = resource(
    "stock_item",
    StockItem,
    attributes=[
        "count_on_hand",
        "backorderable",
        computed("is_available", lambda item, _context: item.count_on_hand > 0 or item.backorderable, bool),
        *_STAMPS,
        *_METADATA,
    ],
    relations=[one("stock_location", "stock_location"), one("variant", "variant")],
)
STOCK_ITEMS = Collection(
    path="stock_items",
    access="stock",
    resource=STOCK_ITEM,
    actions=resources.STOCK_ITEM,
    writable=kinds(StockItemInput),
    required=("variant_id", "stock_location_id"),
    create_only=("variant_id", "stock_location_id"),
    filters=("count_on_hand", "backorderable", "stock_location_id", "variant_id"),
    via={"variant_product": [("variant", "product")]},
)
STOCK_MOVEMENT = resource(
    "stock_movement",
    StockMovement,
    attributes=["quantity", "reason", "note", "actor_kind", "created_at"],
    relations=[one("stock_item", "stock_item")],
)
STOCK_MOVEMENTS = Collection(
    path="stock_movements",
    access="stock",
    resource=STOCK_MOVEMENT,
    actions=resources.STOCK_MOVEMENT,
    writable=kinds(StockMovementInput),
    required=("quantity",),
    filters=("stock_item_id", "quantity", "reason", "actor_kind"),
)
