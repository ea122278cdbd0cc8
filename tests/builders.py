"""Records of a shop for tests, made over the Platform API."""

from collections.abc import Mapping, Sequence
from itertools import product as combinations
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import msgspec

from tests.platform.client import Machine
from tests.shopper import Answer


class ProductIds(msgspec.Struct, frozen=True):
    """The ids of a product, its master and its other variants in their order."""

    id: str
    slug: str
    master: str
    variants: tuple[str, ...] = ()

    @property
    def variant_id(self) -> str:
        """The variant to buy: the first besides the master, or the master if it is the only one."""
        return self.variants[0] if self.variants else self.master


class Make:
    """Makes records. A test names the fields that it is about; the others have default values."""

    def __init__(self, machine: Machine, stock_location_id: str | None = None) -> None:
        self.machine = machine
        self._ids: dict[tuple[str, ...], str] = {("stock_location",): stock_location_id} if stock_location_id else {}

    async def new(self, path: str, kind: str, /, **fields: Any) -> Answer:
        response = await self.machine.post(f"/{path}", {kind: fields})
        assert response.status == 201, response
        return response

    async def change(self, path: str, record_id: str, kind: str, /, **fields: Any) -> None:
        response = await self.machine.patch(f"/{path}/{record_id}", {kind: fields})
        assert response.status == 200, response

    async def remove(self, path: str, record_id: str) -> None:
        response = await self.machine.delete(f"/{path}/{record_id}")
        assert response.status == 204, response

    async def product(
        self,
        name: str = "Mug",
        *,
        price: str | None = "10.00",
        prices: Mapping[str, str] | None = None,
        on_hand: int | None = None,
        options: Mapping[str, Sequence[str]] | None = None,
        taxons: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> ProductIds:
        """An active product with a price; with `options`, a variant for each combination with that price and stock."""
        costs = {} if price is None else {"price": price}
        record = await self.new(
            "products", "product", **{"name": name, "status": "active", "taxon_ids": list(taxons), **costs, **fields}
        )
        master = record.json["data"]["relationships"]["primary_variant"]["data"]["id"]
        for property_name, value in (properties or {}).items():
            await self._property(record.id, property_name, value)
        await self._add_prices_and_stock(master, prices, on_hand)
        variants = []
        for values in combinations(*options.values()) if options else ():
            pairs = dict(zip(options or (), values, strict=True))
            variants.append(await self.variant(record.id, pairs, price=price, prices=prices, on_hand=on_hand))
        return ProductIds(record.id, record["slug"], master, tuple(variants))

    async def variant(
        self,
        product_id: str,
        options: Mapping[str, str] | None = None,
        *,
        price: str | None = "10.00",
        prices: Mapping[str, str] | None = None,
        on_hand: int | None = None,
        **fields: Any,
    ) -> str:
        value_ids = [await self.option(kind, value) for kind, value in (options or {}).items()]
        costs = {} if price is None else {"price": price}
        record = await self.new(
            "variants", "variant", **{"product_id": product_id, "option_value_ids": value_ids, **costs, **fields}
        )
        await self._add_prices_and_stock(record.id, prices, on_hand)
        return record.id

    async def _add_prices_and_stock(
        self, variant_id: str, prices: Mapping[str, str] | None, on_hand: int | None
    ) -> None:
        for currency, amount in (prices or {}).items():
            await self.new("prices", "price", variant_id=variant_id, currency=currency, amount=amount)
        if on_hand is not None:
            await self.stock(variant_id, on_hand)

    async def stock(
        self, variant_id: str, count: int = 0, *, backorderable: bool = False, location_id: str = ""
    ) -> str:
        """A stock item at this stock location, or at the default one of the builder; returns its id."""
        item = {
            "variant_id": variant_id,
            "stock_location_id": location_id or await self.stock_location(),
            "count_on_hand": count,
            "backorderable": backorderable,
        }
        return (await self.new("stock_items", "stock_item", **item)).id

    async def stock_location(self) -> str:
        return await self._once(("stock_location",), "stock_locations", "stock_location", name=f"Store {uuid4().hex}")

    async def option_type(self, name: str, **fields: Any) -> str:
        """The option type of this name, which another test of the same shop may have created."""
        key, values = ("option_type", name), {"name": name, "presentation": name.capitalize(), **fields}
        if key not in self._ids:
            response = await self.machine.get(f"/option_types?filter[name_eq]={quote(name)}")
            for record in response.json["data"]:
                self._ids[key] = record["id"]
        return await self._once(key, "option_types", "option_type", **values)

    async def option(self, kind: str, value: str, **fields: Any) -> str:
        type_id = await self.option_type(kind)
        values = {"option_type_id": type_id, "name": value, "presentation": value.capitalize(), **fields}
        return await self._once(("option", kind, value), "option_values", "option_value", **values)

    async def property(self, name: str, **fields: Any) -> str:
        values = {"name": name, "presentation": name.capitalize(), **fields}
        return await self._once(("property", name), "properties", "property", **values)

    async def _property(self, product_id: str, name: str, value: str) -> None:
        fields = {"product_id": product_id, "property_id": await self.property(name), "value": value}
        await self.new("product_properties", "product_property", **fields)

    async def taxonomy(self, name: str = "", **fields: Any) -> tuple[str, str]:
        """A taxonomy; returns its id and the id of its root."""
        taxonomy = await self.new("taxonomies", "taxonomy", name=name or f"Tree t{uuid4().hex}", **fields)
        return taxonomy.id, taxonomy.json["data"]["relationships"]["taxons"]["data"][0]["id"]

    async def taxon(self, name: str, parent_id: str, **fields: Any) -> str:
        return (await self.new("taxons", "taxon", name=name, parent_id=parent_id, **fields)).id

    async def price_list(
        self,
        *,
        name: str = "",
        users: Sequence[Any] = (),
        groups: Sequence[str] = (),
        entries: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> str:
        """A price list for these users and groups; `entries` are amounts by variant id, from a quantity of one."""
        price_list = await self.new(
            "price_lists", "price_list", **{"name": name or f"List {uuid4().hex}", "currency": "USD", **fields}
        )
        for user_id in users:
            await self.new("price_list_users", "price_list_user", price_list_id=price_list.id, user_id=str(user_id))
        for group_id in groups:
            await self.new(
                "price_list_groups", "price_list_group", price_list_id=price_list.id, customer_group_id=group_id
            )
        for variant_id, amount in (entries or {}).items():
            await self.entry(price_list.id, variant_id, amount)
        return price_list.id

    async def entry(self, list_id: str, variant_id: str, amount: str, *, min_quantity: int = 1) -> str:
        fields = {"price_list_id": list_id, "variant_id": variant_id, "amount": amount, "min_quantity": min_quantity}
        return (await self.new("price_list_entries", "price_list_entry", **fields)).id

    async def group(self, *user_ids: Any) -> str:
        group = await self.new("customer_groups", "customer_group", name=f"Group {uuid4().hex}")
        for user_id in user_ids:
            await self.new(
                "customer_group_members", "customer_group_member", customer_group_id=group.id, user_id=str(user_id)
            )
        return group.id

    async def _once(self, key: tuple[str, ...], path: str, kind: str, /, **fields: Any) -> str:
        """Makes a record when it is first needed; all products of a test share it."""
        if key not in self._ids:
            self._ids[key] = (await self.new(path, kind, **fields)).id
        return self._ids[key]
