"""How the demo shop gets into an empty database."""

from shop.db.pool import open_database
from shop.queries import setup

NAME = "Demo Shop"
CURRENCIES = ["USD", "EUR", "GBP", "JPY"]


async def load_demo(url: str) -> bool:
    """Says whether the database was empty and has the demo shop now."""
    database = open_database(url, size=1)
    try:
        return await setup.fill_shop(database.session(), name=NAME, currencies=CURRENCIES)
    finally:
        await database.close()
