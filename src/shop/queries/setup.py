"""Which statements read how the shop is set up, and whether the database is what this program expects."""

from typing import cast

from sqlalchemy import bindparam, column, select, table, update

from shop.db.pool import Session
from shop.db.statements import into, statement
from shop.models.setup import Shop, shops

_SHOP = statement(select(shops), into(Shop))
_REVISION = statement(
    select(column("version_num")).select_from(table("alembic_version")), lambda record: cast(str, record[0])
)

# Only a shop that nobody has named or given currencies is as good as empty.
_FILL = statement(
    update(shops)
    .where(shops.c.name == "Shop", shops.c.currencies == ["USD"])
    .values(name=bindparam("new_name"), currencies=bindparam("new_currencies"))
    .returning(shops.c.id),
    lambda record: cast(int, record[0]),
)


async def find_shop(db: Session) -> Shop | None:
    return await db.one(_SHOP)


async def find_revision(db: Session) -> str | None:
    """The migration the database stands at."""
    return await db.one(_REVISION)


async def fill_shop(db: Session, *, name: str, currencies: list[str]) -> bool:
    return await db.one(_FILL, new_name=name, new_currencies=currencies) is not None
