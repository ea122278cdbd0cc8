"""How revisions are run: what is newest, what a database stands at, and bringing it up to date."""

from functools import partial
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from asyncpg.exceptions import ClientConfigurationError
from sqlalchemy.exc import DBAPIError

from shop.base.errors import CannotStart
from shop.db.hosts import Hosts, connect_to

LOCK = 7_426_731
"""The advisory lock under which one process migrates."""

CHAPTERS = (
    "shop.models.access.sessions",
    "shop.models.access.applications",
    "shop.models.catalog.storefront",
    "shop.models.checkout.coupons",
    "shop.models.checkout.shipments",
    "shop.models.journal",
    "shop.models.access.keys",
    "shop.models.catalog.product_index",
    "shop.models.catalog.images",
    "shop.models.content.menus",
    "shop.models.access.operators",
    "shop.models.cart.orders",
    "shop.models.content.pages",
    "shop.models.checkout.payments",
    "shop.models.access.users",
    "shop.models.customers.addresses",
    "shop.models.setup.countries",
    "shop.models.catalog.prices",
    "shop.models.catalog.products",
    "shop.models.cart.promotions",
    "shop.models.cart.quotes",
    "shop.models.setup.shop",
    "shop.models.catalog.stock",
    "shop.models.checkout.store_credit",
    "shop.models.setup.taxes",
    "shop.models.catalog.taxons",
    "shop.models.catalog.full_products",
    "shop.models.customers.wishlists",
    "shop.models.setup.zones",
)
"""Every module that declares tables."""


def alembic_config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["database_url"] = url
    return config


def newest_revision() -> str:
    newest = ScriptDirectory.from_config(alembic_config("")).get_current_head()
    if newest is None:
        raise CannotStart("This installation has no migrations; install the shop again.")
    return newest


def outdated_revisions() -> frozenset[str]:
    """All revisions we know but the newest. One we do not know is of a newer program, and we can serve it."""
    script = ScriptDirectory.from_config(alembic_config(""))
    return frozenset(revision.revision for revision in script.walk_revisions()) - {newest_revision()}


async def current_revision(url: str) -> str | None:
    """None when nothing was ever migrated. Raises CannotStart when the database does not answer."""
    try:
        connection = await Hosts(url).connect(partial(connect_to, seconds=5))
    except ClientConfigurationError as error:
        # A kind of ValueError, but what it says is about one parameter and helps.
        raise CannotStart(f"SHOP_DATABASE_URL cannot be used: {_reason(error)}; {_mend(error)}.") from None
    except ValueError:
        raise CannotStart("SHOP_DATABASE_URL cannot be read; percent-encode odd characters of the password.") from None
    except asyncpg.TargetServerAttributeNotMatched:
        raise CannotStart("The database is read-only; name the primary in SHOP_DATABASE_URL.") from None
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise CannotStart(
            f"The database does not answer ({_reason(error)}); check SHOP_DATABASE_URL and that it runs."
        ) from None
    try:
        found: str | None = await connection.fetchval("select version_num from alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    except asyncpg.PostgresError as error:
        raise CannotStart(f"The database cannot be read ({_reason(error)}); check the rights of its user.") from None
    else:
        return found
    finally:
        await connection.close()


def upgrade(url: str) -> None:
    """Safe from several processes and machines at once. A database that is ahead of this program is left alone."""
    try:
        command.upgrade(alembic_config(url), "head")
    except CommandError as error:
        if "Can't locate revision" not in str(error):
            raise
    except DBAPIError as error:
        raise CannotStart(f"The database cannot be migrated ({_reason(error.orig)}).") from None


def _mend(error: ClientConfigurationError) -> str:
    if "root certificate" in str(error):
        return (
            "put the certificate of the database's authority there, or name its file with sslrootcert=FILE in the URL"
        )
    return "mend that parameter of the URL"


def _reason(error: BaseException | None) -> str:
    # The first line only, and never the URL: it may hold a password.
    lines = str(error).splitlines()
    return lines[0].rpartition(">: ")[2] if lines else type(error).__name__
