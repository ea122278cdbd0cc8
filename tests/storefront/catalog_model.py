"""A shop of about thirty products, and a slow, obvious model of its product lists."""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from tests.builders import Make

COUNT = 28
SIZES, COLORS = ("s", "m", "l"), ("red", "blue")
MATERIALS = ("Wool", "Bone China", "Oak")
TAGS = ("new", "sale", "Gift Idea")
WORDS = ("Mug", "Shirt", "Lamp", "Teapot", "mug", "Éclair")
Params = Mapping[str, str]


class ModelVariant(msgspec.Struct, frozen=True):
    """A variant in the model."""

    options: Mapping[str, str]
    sku: str
    prices: Mapping[str, Decimal]
    on_hand: int
    backorderable: bool
    is_tracked: bool

    @property
    def in_stock(self) -> bool:
        return self.on_hand > 0 or not self.is_tracked


class ModelProduct(msgspec.Struct, frozen=True):
    """A product in the model; `variants` does not contain the master."""

    id: str
    row: Mapping[str, Any]
    master: ModelVariant
    variants: Sequence[ModelVariant]
    taxons: Mapping[str, int]
    """Positions by taxon."""
    properties: Mapping[str, str]

    @property
    def sellable_variants(self) -> Sequence[ModelVariant]:
        return self.variants or [self.master]

    @property
    def default(self) -> ModelVariant:
        available = [variant for variant in self.sellable_variants if variant.in_stock or variant.backorderable]
        return (available or self.sellable_variants)[0]

    @property
    def skus(self) -> list[str]:
        return [variant.sku for variant in (self.master, *self.variants) if variant.sku]


class ModelShop:
    """The records of the shop; taxons and options by name."""

    def __init__(self) -> None:
        self.products: list[ModelProduct] = []
        self.taxons: dict[str, str] = {}
        self.options: dict[tuple[str, str], str] = {}

    def taxons_of(self, product: ModelProduct) -> set[str]:
        """The taxons of a product and their ancestors."""
        above = {"root": [], "a": ["root"], "b": ["root"], "a1": ["a", "root"], "a2": ["a", "root"]}
        names = {name for name, taxon in self.taxons.items() if taxon in product.taxons}
        return {self.taxons[each] for name in names for each in (name, *above[name])}


async def create_model_shop(make: Make, db: Any) -> ModelShop:
    chance, model_shop = random.Random(20), ModelShop()
    _, model_shop.taxons["root"] = await make.taxonomy("Wares")
    for name, parent in (("a", "root"), ("b", "root"), ("a1", "a"), ("a2", "a")):
        model_shop.taxons[name] = await make.taxon(name, model_shop.taxons[parent])
    for kind, values in {"size": SIZES, "color": COLORS}.items():
        for value in values:
            model_shop.options[kind, value] = await make.option(kind, value)
    drafts = [await _make_product(make, chance, model_shop, number) for number in range(COUNT)]
    rows = {str(row["id"]): dict(row) for row in await db.fetch("select * from products")}
    model_shop.products = [msgspec.structs.replace(product, row=rows[product.id]) for product in drafts]
    return model_shop


async def _make_product(make: Make, chance: random.Random, model_shop: ModelShop, number: int) -> ModelProduct:
    now = datetime.now(UTC)
    # Hides a few products in each possible way.
    status = ("draft", "archived")[number % 2] if number in {3, 4} else "active"
    available_on = now + timedelta(days=9) if number == 5 else chance.choice([None, now - timedelta(days=number + 2)])
    discontinue_on = now - timedelta(days=1) if number in {6, 7} else chance.choice([None, now + timedelta(days=19)])
    properties = {name: chance.choice(MATERIALS) for name in ("material", "lining") if chance.random() < 0.5}
    master = _make_variant(chance, {}, f"M-{number}" if number % 3 else "")
    product = await make.product(
        f"{chance.choice(WORDS)} {chance.choice(WORDS)} {number % 4}",
        price=None,
        status=status,
        description=chance.choice([None, "Soft and warm", "<b>Hard</b> wood"]),
        tags=chance.sample(TAGS, chance.randrange(3)),
        sku=master.sku,
        track_inventory=master.is_tracked,
        properties=properties,
        available_on=available_on and available_on.isoformat(),
        discontinue_on=discontinue_on and discontinue_on.isoformat(),
    )
    await _add_prices_and_stock(make, product.master, master)
    taxons = {}
    for name in chance.sample(["a", "b", "a1", "a2"], chance.randrange(3)):
        taxons[model_shop.taxons[name]] = chance.randrange(4)
    for taxon_id, position in taxons.items():
        await make.new("classifications", "classification", product_id=product.id, taxon_id=taxon_id, position=position)
    variants = []
    for index, options in enumerate(_choices(chance)):
        variants.append(_make_variant(chance, options, f"V-{number}-{index}" if chance.random() < 0.7 else ""))
        variant_id = await make.variant(
            product.id,
            options,
            price=None,
            sku=variants[-1].sku,
            position=index,
            track_inventory=variants[-1].is_tracked,
        )
        await _add_prices_and_stock(make, variant_id, variants[-1])
    if number == 8:
        await make.remove("products", product.id)
    return ModelProduct(product.id, {}, master, variants, taxons, properties)


def _choices(chance: random.Random) -> list[dict[str, str]]:
    kinds = {"size": SIZES, "color": COLORS}
    option_types = {kind: kinds[kind] for kind in kinds if chance.random() < 0.5}
    every: list[dict[str, str]] = [{}] if option_types else []
    for kind, values in option_types.items():
        every = [{**options, kind: value} for options in every for value in values]
    return chance.sample(every, min(len(every), 3))


def _make_variant(chance: random.Random, options: Mapping[str, str], sku: str) -> ModelVariant:
    prices = {name: Decimal(chance.randrange(1, 40)) / 2 for name in ("USD", "EUR") if chance.random() < 0.8}
    on_hand = chance.choice([0, 0, 5])
    return ModelVariant(options, sku, prices, on_hand, chance.random() < 0.2, is_tracked=chance.random() < 0.9)


async def _add_prices_and_stock(make: Make, variant_id: str, variant: ModelVariant) -> None:
    for currency, amount in variant.prices.items():
        await make.new("prices", "price", variant_id=variant_id, currency=currency, amount=str(amount))
    if variant.on_hand or variant.backorderable:
        await make.stock(variant_id, variant.on_hand, backorderable=variant.backorderable)


def plain(text: str) -> str:
    return text.lower().replace("é", "e")


def _param(value: str) -> str:
    return value.lower().replace(" ", "-")


def _amounts(text: str) -> tuple[Decimal, Decimal]:
    low, _, high = text.partition(",")
    return Decimal(low or "0"), Decimal(high or "Infinity")


def _matches_words(query: str, text: str) -> bool:
    """Whether each word of the query is the beginning of a word of the text."""
    words = plain(text).replace("-", " ").split()
    return all(
        any(candidate.startswith(word) for candidate in words) for word in plain(query).replace("-", " ").split()
    )


def _fits_variant(model_shop: ModelShop, variant: ModelVariant, option_ids: Sequence[str]) -> bool:
    pairs = {pair for pair, option_id in model_shop.options.items() if option_id in option_ids}
    return bool(pairs) and all(
        any((kind, value) in pairs for value in [variant.options.get(kind, "")]) for kind in {kind for kind, _ in pairs}
    )


Fits = Callable[[ModelShop, ModelProduct, str], bool]
FITS: dict[str, Fits] = {
    "filter[ids]": lambda _, product, value: product.id in value.split(","),
    "filter[skus]": lambda _, product, value: bool({*product.skus} & {*value.split(",")}),
    "filter[tags]": lambda _, product, value: bool({*product.row["tags"]} & {*value.split(",")}),
    "filter[slug]": lambda _, product, value: product.row["slug"] == value,
    "filter[name]": lambda _, product, value: _matches_words(value, product.row["name"]),
    "filter[taxons]": lambda model_shop, product, value: bool(model_shop.taxons_of(product) & {*value.split(",")}),
    "filter[concat_taxons]": lambda model_shop, product, value: model_shop.taxons_of(product) >= {*value.split(",")},
    "filter[vendor_ids]": lambda _model_shop, _product, _value: False,
    "filter[options][size]": lambda _, product, value: any(
        item.options.get("size") == value for item in product.variants
    ),
    "filter[options][color]": lambda _, product, value: any(
        item.options.get("color") == value for item in product.variants
    ),
    "filter[option_value_ids]": lambda model_shop, product, value: any(
        _fits_variant(model_shop, item, value.split(",")) for item in product.variants
    ),
    "filter[properties][material]": lambda _, product, value: (
        _param(product.properties.get("material", "-")) == _param(value)
    ),
    "filter[properties][lining]": lambda _, product, value: (
        _param(product.properties.get("lining", "-")) == _param(value)
    ),
    "filter[in_stock]": lambda _, product, _value: any(item.in_stock for item in product.sellable_variants),
    "filter[backorderable]": lambda _, product, _value: any(item.backorderable for item in product.sellable_variants),
    "filter[purchasable]": lambda _, product, _value: (
        is_visible(product, {}) and any(item.in_stock or item.backorderable for item in product.sellable_variants)
    ),
    "filter[show_deleted]": lambda _model_shop, _product, _value: True,
}


def is_visible(product: ModelProduct, params: Params) -> bool:
    now, row = datetime.now(UTC), product.row
    if row["status"] != "active" or row["deleted_at"] or (row["available_on"] and row["available_on"] > now):
        return False
    return bool(params.get("filter[show_discontinued]")) or not row["discontinue_on"] or row["discontinue_on"] > now


def expected(model_shop: ModelShop, params: Params) -> list[str]:
    """The ids of the products in the list, in order."""
    currency = params.get("filter[currency]", "USD")
    low, high = _amounts(params.get("filter[price]", ""))
    products = [
        product
        for product in model_shop.products
        if is_visible(product, params)
        and low <= product.default.prices.get(currency, Decimal(-1)) <= high
        and all(FITS[name](model_shop, product, value) for name, value in params.items() if name in FITS)
    ]
    products.sort(key=lambda product: UUID(product.id), reverse="sort" not in params)
    # The most significant sort runs last; columns rank before the price, and the price before the SKU.
    sorts = [part for part in params.get("sort", "").split(",") if part]
    rank = {"price": 1, "sku": 2}
    by_rank = sorted(sorts, key=lambda part: rank.get(part.removeprefix("-"), 0))
    for sort in by_rank[::-1]:
        products.sort(key=_nulls_last(_BY[sort.removeprefix("-")](params, currency)), reverse=sort.startswith("-"))
    return [product.id for product in products]


def _nulls_last(by: Callable[[ModelProduct], Any]) -> Callable[[ModelProduct], Any]:
    """A sort key that puts None last in ascending order and first in descending order."""
    return lambda product: (by(product) is None, by(product))


def _column(name: str) -> Callable[[Params, str], Callable[[ModelProduct], Any]]:
    return lambda _params, _currency: lambda product: product.row[name]


def _position(params: Params, _currency: str) -> Callable[[ModelProduct], Any]:
    (taxon,) = params["filter[taxons]"].split(",")
    return lambda product: product.taxons.get(taxon)


_BY: dict[str, Callable[[Params, str], Callable[[ModelProduct], Any]]] = {
    **{
        name: _column(name) for name in ("id", "name", "slug", "updated_at", "created_at", "deleted_at", "available_on")
    },
    "number": _column("id"),
    "seen": lambda _params, _currency: lambda product: product.row["available_on"] or product.row["created_at"],
    "position": _position,
    "price": lambda _params, currency: lambda product: product.default.prices[currency],
    "sku": lambda _params, _currency: lambda product: (product.skus or [""])[0],
}
