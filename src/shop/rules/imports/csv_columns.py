"""The columns of CSV files: ours, and those of Shopify and Spree under our names."""

from collections.abc import Mapping, Sequence

MAX_OPTIONS = 5
IMAGE_COLUMNS = (
    *(f"image{number}_{part}" for number in (1, 2, 3) for part in ("src", "alt")),
    *("image1_position", "variant_image_src"),
)
"""Links to images, only in imports."""
CATEGORY_COLUMNS = ("category1", "category2", "category3")
"""Categories by their names, like `Categories -> Shirts`, only in imports."""
_OTHER_COLUMNS = (
    *("price", "compare_at_price", "currency", "published", "track_inventory"),
    "grams",
)
STOCK_IN_PRODUCTS = ("stock", "backorderable")
"""Columns of a product file that change stock."""
COST_COLUMNS = ("cost_price", "cost_currency")
_OPTIONS = tuple(f"option{number}_{part}" for number in range(1, MAX_OPTIONS + 1) for part in ("name", "value"))
PRODUCT_TEXTS = (
    *("name", "description", "status", "available_on", "discontinue_on"),
    *("meta_title", "meta_description", "meta_keywords", "tax_category", "shipping_category"),
)
PROPERTIES = {"vendor": "Vendor", "type": "Type"}
"""The properties of a product that have columns."""
UNITS = ("weight_unit", "dimension_unit")
"""The units of the sizes in a row; those of the shop without them."""
COST_COLUMNS = ("cost_price", "cost_currency")
VARIANT_TEXTS = ("barcode", "weight", "height", "width", "depth", *COST_COLUMNS)
STOCK_COLUMNS = ("sku", "location", "count_on_hand", "backorderable")
CUSTOMER_COLUMNS = (
    *("email", "first_name", "last_name", "phone", "tags", "note"),
    *("address_first_name", "address_last_name", "company", "address1", "address2"),
    *("city", "state", "zipcode", "country", "address_phone"),
)
_SHOPIFY = {
    "handle": "slug",
    "url handle": "slug",
    "title": "name",
    "body (html)": "description",
    "description": "description",
    "product category": "category1",
    "tags": "tags",
    "vendor": "vendor",
    "type": "type",
    "status": "status",
    "published": "published",
    "published on online store": "published",
    "seo title": "meta_title",
    "seo description": "meta_description",
    "variant sku": "sku",
    "sku": "sku",
    "variant barcode": "barcode",
    "barcode": "barcode",
    "variant grams": "grams",
    "weight value (grams)": "grams",
    "variant inventory tracker": "track_inventory",
    "inventory tracker": "track_inventory",
    "variant inventory qty": "stock",
    "inventory quantity": "stock",
    "variant inventory policy": "backorderable",
    "continue selling when out of stock": "backorderable",
    "variant price": "price",
    "price": "price",
    "variant compare at price": "compare_at_price",
    "compare-at price": "compare_at_price",
    "cost per item": "cost_price",
    "image src": "image1_src",
    "product image url": "image1_src",
    "image position": "image1_position",
    "image alt text": "image1_alt",
    "variant image": "variant_image_src",
    "variant image url": "variant_image_src",
    **{f"option{number} {part}": f"option{number}_{part}" for number in (1, 2, 3) for part in ("name", "value")},
}
"""Our columns by those of Shopify's product files, old and new, in lowercase."""
_SPREE = {
    "inventory_count": "stock",
    "inventory_backorderable": "backorderable",
    "vendor_name": "vendor",
    "seller_name": "vendor",
    "product_type": "type",
    "dimensions_unit": "dimension_unit",
}
_SHOPIFY_ADDRESS = {
    "Company": "company",
    "Address1": "address1",
    "Address2": "address2",
    "City": "city",
    "Province Code": "state",
    "Country Code": "country",
    "Zip": "zipcode",
}
_SHOPIFY_CUSTOMERS = {
    "Email": "email",
    "First Name": "first_name",
    "Last Name": "last_name",
    "Phone": "phone",
    "Tags": "tags",
    "Note": "note",
    "Default Address Phone": "address_phone",
    **_SHOPIFY_ADDRESS,
    **{f"Default Address {name}": column for name, column in _SHOPIFY_ADDRESS.items()},
}
KEYS = {"products": "slug", "stock": "sku", "customers": "email"}
"""The column that identifies a record, by the kind of file."""
FORMATS = {"own": "This shop's format", "shopify": "Shopify", "spree": "Spree"}


def product_columns(currencies: Sequence[str]) -> tuple[str, ...]:
    """Returns our columns of a product file, in the order of exports."""
    prices = (f"{name}_{currency}" for currency in currencies for name in ("price", "compare_at_price"))
    return (
        "slug",
        *PRODUCT_TEXTS,
        "tags",
        "categories",
        *PROPERTIES,
        "sku",
        *_OPTIONS,
        *prices,
        *VARIANT_TEXTS,
        *UNITS,
    )


def target_columns(kind: str, currencies: Sequence[str]) -> tuple[str, ...]:
    """Returns the columns that an operator can choose for a column of a file."""
    if kind != "products":
        return STOCK_COLUMNS if kind == "stock" else CUSTOMER_COLUMNS
    return (
        *product_columns(currencies),
        *(*_OTHER_COLUMNS, *STOCK_IN_PRODUCTS, *CATEGORY_COLUMNS, *IMAGE_COLUMNS),
    )


def find_format(kind: str, headers: Sequence[str]) -> str:
    names = set(headers)
    if kind != "products":
        return "shopify" if kind == "customers" and {"First Name", "Last Name", "Email"} <= names else "own"
    lower_names = {header.lower() for header in headers}
    if "title" in lower_names and lower_names & {"handle", "url handle"}:
        return "shopify"
    return "spree" if "inventory_count" in names or "inventory_backorderable" in names else "own"


def suggest_mapping(kind: str, file_format: str, headers: Sequence[str], currencies: Sequence[str]) -> dict[str, str]:
    """Returns our columns by the number of the file's column, each of ours at most once."""
    targets, mapping = target_columns(kind, currencies), dict[str, str]()
    shopify = _SHOPIFY_CUSTOMERS if kind == "customers" else _SHOPIFY
    names: Mapping[str, str] = {"shopify": shopify, "spree": _SPREE}.get(file_format, {})
    for number, header in enumerate(headers):
        column = names.get(header) or names.get(header.lower()) or header
        if column not in targets and file_format != "shopify":
            column = column.lower().replace(" ", "_")
        if column in targets and column not in mapping.values():
            mapping[str(number)] = column
    return mapping
