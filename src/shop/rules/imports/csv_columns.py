"""The columns of CSV files: ours, and those of Shopify and Spree under our names."""

from collections.abc import Iterable, Mapping, Sequence

MAX_OPTIONS = 5
IMAGE_COLUMNS = tuple(f"image{number}_{part}" for number in (1, 2, 3) for part in ("src", "alt"))
"""Links to images, only in imports."""
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
    "Handle": "slug",
    "Title": "name",
    "Body (HTML)": "description",
    "Tags": "tags",
    "Vendor": "vendor",
    "Type": "type",
    "Status": "status",
    "SEO Title": "meta_title",
    "SEO Description": "meta_description",
    "Variant SKU": "sku",
    "Variant Grams": "weight_grams",
    "Variant Inventory Qty": "stock",
    "Variant Price": "price",
    "Variant Compare At Price": "compare_at_price",
    "Variant Barcode": "barcode",
    "Cost per item": "cost_price",
    "Image Src": "image1_src",
    "Image Alt Text": "image1_alt",
    **{
        f"Option{number} {part.title()}": f"option{number}_{part}" for number in (1, 2, 3) for part in ("name", "value")
    },
}
_SPREE = {"inventory_count": "stock"}
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
FORMATS = {"own": "Our own columns", "shopify": "Shopify", "spree": "Spree"}


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
        "price",
        "compare_at_price",
        "currency",
        "weight_grams",
        "stock",
        *IMAGE_COLUMNS,
    )


def list_permissions(kind: str, columns: Iterable[str] = ()) -> list[str]:
    """Returns the permissions to import these columns, in addition to the one to change products."""
    if kind != "products":
        return [f"{kind}:write"]
    needs = {"costs:read": COST_COLUMNS, "stock:write": ("stock",)}
    return [permission for permission, names in needs.items() if not set(columns).isdisjoint(names)]


def find_format(kind: str, headers: Sequence[str]) -> str:
    names = set(headers)
    if kind != "products":
        return "shopify" if kind == "customers" and {"First Name", "Last Name", "Email"} <= names else "own"
    if {"Handle", "Title"} <= names:
        return "shopify"
    return "spree" if "inventory_count" in names or "inventory_backorderable" in names else "own"


def suggest_mapping(kind: str, file_format: str, headers: Sequence[str], currencies: Sequence[str]) -> dict[str, str]:
    """Returns our columns by the number of the file's column, each of ours at most once."""
    targets, mapping = target_columns(kind, currencies), dict[str, str]()
    shopify = _SHOPIFY_CUSTOMERS if kind == "customers" else _SHOPIFY
    names: Mapping[str, str] = {"shopify": shopify, "spree": _SPREE}.get(file_format, {})
    for number, header in enumerate(headers):
        column = names.get(header) or header.strip()
        if column not in targets and file_format != "shopify":
            column = column.lower().replace(" ", "_")
        if column in targets and column not in mapping.values():
            mapping[str(number)] = column
    return mapping
