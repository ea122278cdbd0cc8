"""Runs migrations and reports the newest and current revisions."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING

import asyncpg
from asyncpg.exceptions import ClientConfigurationError

import shop.models
from shop.base.errors import CannotStart
from shop.base.lazy_modules import LazyModule
from shop.db.hosts import Hosts, connect_to
from shop.db.poolers import is_pooled

if TYPE_CHECKING:
    from alembic import command, config, script, util
    from sqlalchemy import exc
else:
    command, config, script = (LazyModule(f"alembic.{name}") for name in ("command", "config", "script"))
    util = LazyModule("alembic.util")
    exc = LazyModule("sqlalchemy.exc")

LOCK = 7_426_731
"""Key of the advisory lock that serializes migrations."""

PARTITION = re.compile("events_(default|[0-9]{8})", re.ASCII)
"""The names of partitions."""
MODEL_MODULES = tuple(module.name for module in walk_packages(shop.models.__path__, "shop.models.") if not module.ispkg)
"""Every module that declares tables."""


def alembic_config(url: str) -> "config.Config":
    new_config = config.Config()
    new_config.set_main_option("script_location", str(Path(__file__).parent))
    new_config.attributes["database_url"] = url
    return new_config


def list_revisions() -> list[str]:
    """Returns all revisions, oldest first, from the names of their files: Alembic would load every one of them."""
    return sorted(file.name.partition("_")[0] for file in (Path(__file__).parent / "versions").glob("[0-9]*_*.py"))


def newest_revision() -> str:
    revisions = list_revisions()
    if not revisions:
        raise CannotStart("This installation has no migrations; install the shop again.")
    return revisions[-1]


def outdated_revisions() -> frozenset[str]:
    """Returns all known revisions except the newest. An unknown one is of a newer program, and can be served."""
    return frozenset(list_revisions()) - {newest_revision()}


async def current_revision(url: str) -> str | None:
    """Returns the current revision, None before the first migration; raises CannotStart without an answer."""
    try:
        connection = await Hosts(url).connect(partial(connect_to, seconds=5))
    except ClientConfigurationError as error:
        # A subclass of ValueError whose message names the bad parameter.
        raise CannotStart(f"SHOP_DATABASE_URL cannot be used: {_reason(error)}; {_mend(error)}.") from None
    except ValueError:
        raise CannotStart(
            "SHOP_DATABASE_URL cannot be read; percent-encode special characters of the password."
        ) from None
    except asyncpg.TargetServerAttributeNotMatched:
        raise CannotStart("The database is read-only; name the primary in SHOP_DATABASE_URL.") from None
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise CannotStart(
            f"The database does not answer ({_reason(error)}); check SHOP_DATABASE_URL and that it runs."
        ) from None
    try:
        revision: str | None = await connection.fetchval("select version_num from alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    except asyncpg.PostgresError as error:
        raise CannotStart(f"The database cannot be read ({_reason(error)}); check the rights of its user.") from None
    else:
        return revision
    finally:
        await connection.close()


def list_statements(revision: str) -> list[str]:
    """Returns the statements of a revision, in the order in which they run."""
    return read_statements(alembic_config(""), revision)


def read_statements(alembic: "config.Config", revision: str) -> list[str]:
    """Returns the statements of a revision of these migrations."""
    alembic.output_buffer = StringIO()
    before = script.ScriptDirectory.from_config(alembic).get_revision(revision).down_revision
    command.upgrade(alembic, f"{before or 'base'}:{revision}", sql=True)
    lines = (line for line in alembic.output_buffer.getvalue().splitlines() if not line.startswith("--"))
    return [each.strip() for each in re.split(r";\n\n", "\n".join(lines) + "\n") if each.strip()]


def list_pending(current: str | None) -> list[str]:
    """Returns the revisions that a database at this revision lacks, oldest first; none for one of a newer version."""
    if current not in {None, *outdated_revisions()}:
        return []
    return [revision for revision in list_revisions() if current is None or revision > current]


def upgrade(
    url: str, *, on_step: Callable[..., None] | None = None, on_retry: Callable[[], None] | None = None
) -> None:
    """Migrates to the newest revision; safe to run concurrently. Leaves a database of a newer version unchanged. Calls
    `on_step` at the end of each transaction as Alembic's `on_version_apply`, and `on_retry` when a lock is missing.
    """
    if asyncio.run(is_pooled(url)):
        raise CannotStart(
            "SHOP_DATABASE_URL leads to a connection pooler, which cannot hold the lock of a migration; run `shop "
            "migrate` with the URL of PostgreSQL itself."
        )
    online = alembic_config(url)
    online.attributes.update(on_version_apply=on_step, on_retry=on_retry)
    try:
        command.upgrade(online, "head")
    except util.CommandError as error:
        if "Can't locate revision" not in str(error):
            raise
    except exc.DBAPIError as error:
        raise CannotStart(f"The database cannot be migrated ({_reason(error.orig)}).") from None


def _mend(error: ClientConfigurationError) -> str:
    if "root certificate" in str(error):
        return (
            "put the certificate of the database's authority there, or name its file with sslrootcert=FILE in the URL"
        )
    return "mend that parameter of the URL"


def _reason(error: BaseException | None) -> str:
    # Only the first line and never the URL, which may contain a password.
    lines = str(error).splitlines()
    return lines[0].rpartition(">: ")[2] if lines else type(error).__name__
