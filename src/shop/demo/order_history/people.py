"""Names and addresses of the people who bought from the demo shop; none of them exists."""

import msgspec

NAMES = (
    (
        *("Ada", "Amos", "Anouk", "Beatrix", "Bram", "Callum", "Clara", "Edith", "Elio", "Esme", "Fergus", "Flora"),
        *("Greta", "Hanna", "Hugo", "Imogen", "Ines", "Jonas", "Kenji", "Lena", "Leo", "Lotte", "Mabel", "Mattis"),
        *("Mina", "Nell", "Oren", "Oskar", "Pia", "Rafe", "Rosa", "Silas", "Theo", "Uma", "Vera", "Wren"),
    ),
    (
        *("Alder", "Ashby", "Barrow", "Birch", "Brook", "Calder", "Carver", "Dale", "Ellis", "Fenn", "Field", "Frost"),
        *("Garner", "Glass", "Hale", "Harrow", "Hart", "Heath", "Holt", "Kestrel", "Lark", "Linden", "Loft", "Marlow"),
        *("Moor", "North", "Oakes", "Penrose", "Quayle", "Reed", "Rowan", "Sedge", "Thorne", "Vance", "Wick", "Yarrow"),
    ),
)
"""First names and last names."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """An address in the currency of its country, and its weight in a draw."""

    address1: str
    city: str
    zipcode: str
    state: str | None = None
    country: str
    currency: str
    phone: str
    weight: int = 1


PLACES = (
    # The first three belong to the demo customers, in their order.
    Place(
        address1="48 Harbor Street",
        city="Portland",
        zipcode="04101",
        state="ME",
        country="US",
        currency="USD",
        phone="+1 207 555 0148",
        weight=0,
    ),
    Place(
        address1="1120 Orchard Road",
        city="Hood River",
        zipcode="97031",
        state="OR",
        country="US",
        currency="USD",
        phone="+1 541 555 0112",
        weight=0,
    ),
    Place(
        address1="9 Lamp Lane, Apt 3",
        city="Hudson",
        zipcode="12534",
        state="NY",
        country="US",
        currency="USD",
        phone="+1 518 555 0109",
        weight=0,
    ),
    Place(
        address1="270 Cedar Avenue",
        city="Asheville",
        zipcode="28801",
        state="NC",
        country="US",
        currency="USD",
        phone="+1 828 555 0127",
        weight=4,
    ),
    Place(
        address1="31 Mission Hill",
        city="Santa Cruz",
        zipcode="95060",
        state="CA",
        country="US",
        currency="USD",
        phone="+1 831 555 0131",
        weight=5,
    ),
    Place(
        address1="604 Lakeview Drive",
        city="Madison",
        zipcode="53703",
        state="WI",
        country="US",
        currency="USD",
        phone="+1 608 555 0164",
        weight=4,
    ),
    Place(
        address1="15 Quarry Road",
        city="Burlington",
        zipcode="05401",
        state="VT",
        country="US",
        currency="USD",
        phone="+1 802 555 0115",
        weight=4,
    ),
    Place(
        address1="7 Cliff Street",
        city="Whitby",
        zipcode="YO21 3NN",
        country="GB",
        currency="GBP",
        phone="+44 1632 960107",
        weight=5,
    ),
    Place(
        address1="22 Calton Terrace",
        city="Edinburgh",
        zipcode="EH8 8BW",
        country="GB",
        currency="GBP",
        phone="+44 1632 960122",
        weight=4,
    ),
    Place(
        address1="Gartenstraße 12",
        city="Freiburg",
        zipcode="79098",
        country="DE",
        currency="EUR",
        phone="+49 30 23125012",
        weight=4,
    ),
    Place(
        address1="5 rue des Lilas",
        city="Nantes",
        zipcode="44000",
        country="FR",
        currency="EUR",
        phone="+33 1 99 00 05 12",
        weight=3,
    ),
    Place(
        address1="1-8-3 Minamicho",
        city="Kamakura",
        zipcode="248-0011",
        state="Kanagawa",
        country="JP",
        currency="JPY",
        phone="+81 3 5550 0183",
        weight=2,
    ),
)
