"""A shop of thirty odd products, and the slow obvious model of what a list of them has."""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from tests.builders import Make

COUNT = 28
SIZES, COLOURS = ("s", "m", "l"), ("red", "blue")
MATERIALS = ("Wool", "Bone China", "Oak")
TAGS = ("new", "sale", "Gift Idea")
WORDS = ("Mug", "Shirt", "Lamp", "Teapot", "mug", "Éclair")
Params = Mapping[str, str]


class Sold(msgspec.Struct, frozen=True):
    """A variant as the model knows it."""

    options: Mapping[str, str]
    sku: str
    prices: Mapping[str, Decimal]
    on_hand: int
    backorderable: bool
    is_tracked: bool

    @property
    def in_stock(self) -> bool:
        return self.on_hand > 0 or not self.is_tracked


class Thing(msgspec.Struct, frozen=True):
    """A product as the model knows it; the master is not among the variants."""

    id: str
    row: Mapping[str, Any]
    master: Sold
    variants: Sequence[Sold]
    taxons: Mapping[str, int]
    """Positions by taxon."""
    properties: Mapping[str, str]

    @property
    def sold(self) -> Sequence[Sold]:
        return self.variants or [self.master]

    @property
    def default(self) -> Sold:
        can_be_had = [variant for variant in self.sold if variant.in_stock or variant.backorderable]
        return (can_be_had or self.sold)[0]

    @property
    def skus(self) -> list[str]:
        return [variant.sku for variant in (self.master, *self.variants) if variant.sku]


class Bazaar:
    """Everything that was made, by name."""

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self.taxons: dict[str, str] = {}
        self.options: dict[tuple[str, str], str] = {}

    def within(self, thing: Thing) -> set[str]:
        """The taxons a product stands in, and those above."""
        above = {"root": [], "a": ["root"], "b": ["root"], "a1": ["a", "root"], "a2": ["a", "root"]}
        names = {name for name, taxon in self.taxons.items() if taxon in thing.taxons}
        return {self.taxons[each] for name in names for each in (name, *above[name])}


async def fill(make: Make, db: Any) -> Bazaar:
    chance, bazaar = random.Random(20), Bazaar()
    _, bazaar.taxons["root"] = await make.taxonomy("Wares")
    for name, parent in (("a", "root"), ("b", "root"), ("a1", "a"), ("a2", "a")):
        bazaar.taxons[name] = await make.taxon(name, bazaar.taxons[parent])
    for kind, values in {"size": SIZES, "colour": COLOURS}.items():
        for value in values:
            bazaar.options[kind, value] = await make.option(kind, value)
    drafts = [await _thing(make, chance, bazaar, number) for number in range(COUNT)]
    rows = {str(row["id"]): dict(row) for row in await db.fetch("select * from products")}
    bazaar.things = [msgspec.structs.replace(thing, row=rows[thing.id]) for thing in drafts]
    return bazaar


async def _thing(make: Make, chance: random.Random, bazaar: Bazaar, number: int) -> Thing:
    now = datetime.now(UTC)
    # A few are hidden in each of the ways there are.
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
    await _supply(make, product.master, master)
    taxons = {}
    for name in chance.sample(["a", "b", "a1", "a2"], chance.randrange(3)):
        taxons[bazaar.taxons[name]] = chance.randrange(4)
    for taxon_id, position in taxons.items():
        await make.new("classifications", "classification", product_id=product.id, taxon_id=taxon_id, position=position)
    variants = []
    for place, options in enumerate(_choices(chance)):
        variants.append(_make_variant(chance, options, f"V-{number}-{place}" if chance.random() < 0.7 else ""))
        variant_id = await make.variant(
            product.id,
            options,
            price=None,
            sku=variants[-1].sku,
            position=place,
            track_inventory=variants[-1].is_tracked,
        )
        await _supply(make, variant_id, variants[-1])
    if number == 8:
        await make.remove("products", product.id)
    return Thing(product.id, {}, master, variants, taxons, properties)


def _choices(chance: random.Random) -> list[dict[str, str]]:
    kinds = {"size": SIZES, "colour": COLOURS}
    option_types = {kind: kinds[kind] for kind in kinds if chance.random() < 0.5}
    every: list[dict[str, str]] = [{}] if option_types else []
    for kind, values in option_types.items():
        every = [{**options, kind: value} for options in every for value in values]
    return chance.sample(every, min(len(every), 3))


def _make_variant(chance: random.Random, options: Mapping[str, str], sku: str) -> Sold:
    prices = {name: Decimal(chance.randrange(1, 40)) / 2 for name in ("USD", "EUR") if chance.random() < 0.8}
    on_hand = chance.choice([0, 0, 5])
    return Sold(options, sku, prices, on_hand, chance.random() < 0.2, is_tracked=chance.random() < 0.9)


async def _supply(make: Make, variant_id: str, variant: Sold) -> None:
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


def _starts(query: str, text: str) -> bool:
    """Whether each of the words wanted begins one of the text's."""
    words = plain(text).replace("-", " ").split()
    return all(
        any(candidate.startswith(word) for candidate in words) for word in plain(query).replace("-", " ").split()
    )


def _fits_variant(bazaar: Bazaar, variant: Sold, option_ids: Sequence[str]) -> bool:
    pairs = {pair for pair, option_id in bazaar.options.items() if option_id in option_ids}
    return bool(pairs) and all(
        any((kind, value) in pairs for value in [variant.options.get(kind, "")]) for kind in {kind for kind, _ in pairs}
    )


Fits = Callable[[Bazaar, Thing, str], bool]
FITS: dict[str, Fits] = {
    "filter[ids]": lambda _, thing, value: thing.id in value.split(","),
    "filter[skus]": lambda _, thing, value: bool({*thing.skus} & {*value.split(",")}),
    "filter[tags]": lambda _, thing, value: bool({*thing.row["tags"]} & {*value.split(",")}),
    "filter[slug]": lambda _, thing, value: thing.row["slug"] == value,
    "filter[name]": lambda _, thing, value: _starts(value, thing.row["name"]),
    "filter[taxons]": lambda bazaar, thing, value: bool(bazaar.within(thing) & {*value.split(",")}),
    "filter[concat_taxons]": lambda bazaar, thing, value: bazaar.within(thing) >= {*value.split(",")},
    "filter[vendor_ids]": lambda _bazaar, _thing, _value: False,
    "filter[options][size]": lambda _, thing, value: any(item.options.get("size") == value for item in thing.variants),
    "filter[options][colour]": lambda _, thing, value: any(
        item.options.get("colour") == value for item in thing.variants
    ),
    "filter[option_value_ids]": lambda bazaar, thing, value: any(
        _fits_variant(bazaar, item, value.split(",")) for item in thing.variants
    ),
    "filter[properties][material]": lambda _, thing, value: (
        _param(thing.properties.get("material", "-")) == _param(value)
    ),
    "filter[properties][lining]": lambda _, thing, value: _param(thing.properties.get("lining", "-")) == _param(value),
    "filter[in_stock]": lambda _, thing, value: value != "true" or any(item.in_stock for item in thing.sold),
    "filter[backorderable]": lambda _, thing, value: value != "true" or any(item.backorderable for item in thing.sold),
    "filter[purchasable]": lambda _, thing, value: (
        value != "true" or (is_seen(thing, {}) and any(item.in_stock or item.backorderable for item in thing.sold))
    ),
    "filter[show_deleted]": lambda _bazaar, _thing, _value: True,
}


def is_seen(thing: Thing, params: Params) -> bool:
    now, row = datetime.now(UTC), thing.row
    if row["status"] != "active" or row["deleted_at"] or (row["available_on"] and row["available_on"] > now):
        return False
    return bool(params.get("filter[show_discontinued]")) or not row["discontinue_on"] or row["discontinue_on"] > now


def expected(bazaar: Bazaar, params: Params) -> list[str]:
    """Ids of what the list has, in its order."""
    currency = params.get("filter[currency]", "USD")
    low, high = _amounts(params.get("filter[price]", ""))
    things = [
        thing
        for thing in bazaar.things
        if is_seen(thing, params)
        and low <= thing.default.prices.get(currency, Decimal(-1)) <= high
        and all(FITS[name](bazaar, thing, value) for name, value in params.items() if name in FITS)
    ]
    things.sort(key=lambda thing: UUID(thing.id), reverse="sort" not in params)
    # The sort that counts most is done last; columns count before the price, and the price before the number.
    sorts = [part for part in params.get("sort", "").split(",") if part]
    rank = {"price": 1, "sku": 2}
    by_rank = sorted(sorts, key=lambda part: rank.get(part.removeprefix("-"), 0))
    for sort in by_rank[::-1]:
        things.sort(key=_nothing_last(_BY[sort.removeprefix("-")](params, currency)), reverse=sort.startswith("-"))
    return [thing.id for thing in things]


def _nothing_last(by: Callable[[Thing], Any]) -> Callable[[Thing], Any]:
    """Going up; going down it comes first."""
    return lambda thing: (by(thing) is None, by(thing))


def _column(name: str) -> Callable[[Params, str], Callable[[Thing], Any]]:
    return lambda _params, _currency: lambda thing: thing.row[name]


def _position(params: Params, _currency: str) -> Callable[[Thing], Any]:
    (taxon,) = params["filter[taxons]"].split(",")
    return lambda thing: thing.taxons.get(taxon)


_BY: dict[str, Callable[[Params, str], Callable[[Thing], Any]]] = {
    **{
        name: _column(name) for name in ("id", "name", "slug", "updated_at", "created_at", "deleted_at", "available_on")
    },
    "number": _column("id"),
    "seen": lambda _params, _currency: lambda thing: thing.row["available_on"] or thing.row["created_at"],
    "position": _position,
    "price": lambda _params, currency: lambda thing: thing.default.prices[currency],
    "sku": lambda _params, _currency: lambda thing: (thing.skus or [""])[0],
}
