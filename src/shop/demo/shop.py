"""Data of the demo shop: departments, options, stock locations, customers, price lists and promotions."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from shop.demo.garden_products import POTS, SEEDS, TOOLS
from shop.demo.household_products import BOOTS, LARDER, LAYERS, PAPER
from shop.demo.light_products import CANDLES, LANTERNS
from shop.demo.products import DemoProduct
from shop.models.catalog.inputs import PriceListInput, StockLocationInput

NAME = "Lantern & Loam"

DEPARTMENTS: Mapping[str, Mapping[str, Sequence[DemoProduct]]] = {
    "Light": {"Lanterns": LANTERNS, "Candles": CANDLES},
    "Growing": {"Seeds": SEEDS, "Tools": TOOLS, "Pots": POTS},
    "Wear": {"Boots": BOOTS, "Layers": LAYERS},
    "Larder": {"Teas and Preserves": LARDER},
    "Paper": {"Books and Prints": PAPER},
}
MOONS = ("New Moon", "First Quarter", "Full Moon", "Last Quarter")
"""The second taxonomy: the moon phase of a product."""

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "size": {
        "small": "Small",
        "medium": "Medium",
        "large": "Large",
        "S": "S",
        "M": "M",
        "L": "L",
        "XL": "XL",
        "38": "38",
        "40": "40",
        "42": "42",
        "44": "44",
    },
    "colour": {
        "amber": "Amber",
        "smoke": "Smoke",
        "clear": "Clear",
        "ivory": "Ivory",
        "moss": "Moss",
        "plum": "Plum",
        "ink": "Ink",
    },
    "pack": {
        "sachet": "Sachet",
        "tin": "Tin",
        "sack": "Sack",
        "pair": "Pair",
        "six": "Six",
        "dozen": "Dozen",
    },
}
LOCATIONS: tuple[StockLocationInput, ...] = (
    {"name": "Quay Warehouse", "city": "Whitby", "default": True},
    {"name": "Hilltop Barn", "city": "Goathland"},
)


class DemoShopper(msgspec.Struct, frozen=True):
    """A demo customer, with a note on what they demonstrate."""

    email: str
    first_name: str
    last_name: str
    note: str


WHOLESALE, CONTRACT, PLAIN = (
    DemoShopper("odile@example.com", "Odile", "Marsh", "in the group Wholesale: 20% off everything in dollars"),
    DemoShopper(
        "bruno@example.com", "Bruno", "Vale", "with a list of his own: seeds, tools and pots, less from 10 and 50 on"
    ),
    DemoShopper("tess@example.com", "Tess", "Quill", "pays regular prices, and has 25 dollars of store credit"),
)
SHOPPERS = (WHOLESALE, CONTRACT, PLAIN)

GROUP = "Wholesale"
TRADE_LIST: PriceListInput = {"name": "Trade terms", "currency": "USD", "priority": 10, "percent_off": Decimal(20)}
CONTRACT_LIST: PriceListInput = {"name": "Vale Gardens contract", "currency": "USD", "priority": 20}
CONTRACT_STEPS = {1: Decimal("0.90"), 10: Decimal("0.80"), 50: Decimal("0.70")}
"""Share of the regular price by minimum quantity."""
CONTRACT_CATEGORIES = ("Seeds", "Pots", "Tools")


CREDIT = {"amount": "25.00", "currency": "USD", "memo": "A lantern came with a cracked pane"}


class DemoPromotion(msgspec.Struct, frozen=True, kw_only=True):
    """A promotion with one benefit, automatic or redeemed by code."""

    name: str
    description: str
    benefit: str
    settings: Mapping[str, Any] = {}
    category: str | None = None
    """Category that the promotion is limited to; None for all."""
    minimum_totals: Mapping[str, str] = {}
    """Minimum item total by currency."""
    code: str | None = None


COUPON = "MOONRISE"
PROMOTIONS = (
    DemoPromotion(
        name="Sowing season",
        description="A tenth off all seeds",
        benefit="percent_off_items",
        settings={"percent": "10"},
        category="Seeds",
    ),
    DemoPromotion(
        name="The carrier is on us",
        description="Free shipping from 80 dollars on",
        benefit="free_shipping",
        minimum_totals={"USD": "80", "EUR": "75", "GBP": "65", "JPY": "12000"},
    ),
    DemoPromotion(
        name="Moonrise",
        description="5 dollars off an order of 20 or more",
        benefit="amount_off_order",
        settings={"amounts": {"USD": "5", "EUR": "5", "GBP": "4", "JPY": "750"}},
        minimum_totals={"USD": "20", "EUR": "18", "GBP": "16", "JPY": "3000"},
        code=COUPON,
    ),
)
COUPON_DESCRIPTION = PROMOTIONS[-1].description


def all_products() -> list[tuple[str, DemoProduct]]:
    """Returns every product with its category."""
    return [
        (category, product)
        for categories in DEPARTMENTS.values()
        for category, products in categories.items()
        for product in products
    ]


def products_with_skus() -> list[tuple[str, DemoProduct, str]]:
    """Returns every product with its category and SKU."""
    return [
        (category, product, f"{category[:3].upper()}-{number:03}")
        for number, (category, product) in enumerate(all_products(), 1)
    ]


def variant_sku(product_sku: str, values: Sequence[str]) -> str:
    return "-".join((product_sku, *(value.upper() for value in values)))
