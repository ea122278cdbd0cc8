"""A row of a stock file."""

import msgspec


class StockRow(msgspec.Struct, frozen=True):
    """The count of a variant at a location; without a location, at the default one."""

    sku: str
    location: str = ""
    count_on_hand: int | None = None
    backorderable: bool | None = None
