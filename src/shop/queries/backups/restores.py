"""Statements of a restore: what the target database contains, and who uses it."""

from typing import cast

import msgspec
from sqlalchemy import Integer, and_, column, exists, func, literal_column, select, table
from sqlalchemy import cast as sql_cast

from shop.db.pool import DatabaseSession
from shop.db.statements import into, statement


class TargetState(msgspec.Struct, frozen=True):
    """The database that a backup is restored into."""

    postgres_version: int
    relation_count: int
    connection_count: int
    """Connections of others."""


_classes = table("pg_class", *(column(name) for name in ("oid", "relkind", "relnamespace")))
_namespaces = table("pg_namespace", column("oid"), column("nspname"))
_dependencies = table("pg_depend", column("classid"), column("objid"), column("deptype"))
_activity = table("pg_stat_activity", *(column(name) for name in ("pid", "datname", "backend_type")))
_belongs_to_extension = exists().where(
    and_(
        _dependencies.c.classid == literal_column("'pg_class'::regclass"),
        _dependencies.c.objid == _classes.c.oid,
        _dependencies.c.deptype == literal_column("'e'"),
    )
)
_relation_count = (
    select(func.count())
    .select_from(_classes.join(_namespaces, _namespaces.c.oid == _classes.c.relnamespace))
    .where(
        _classes.c.relkind.in_([literal_column(f"'{kind}'") for kind in "rpvmSf"]),
        _namespaces.c.nspname.notlike(literal_column("'pg\\_%'")),
        _namespaces.c.nspname != literal_column("'information_schema'"),
        ~_belongs_to_extension,
    )
    .scalar_subquery()
)
_connection_count = (
    select(func.count())
    .select_from(_activity)
    .where(
        _activity.c.datname == func.current_database(),
        _activity.c.pid != func.pg_backend_pid(),
        _activity.c.backend_type == literal_column("'client backend'"),
    )
    .scalar_subquery()
)
_version_number = sql_cast(func.current_setting(literal_column("'server_version_num'")), Integer)
_STATE = statement(
    select(
        sql_cast(func.div(_version_number, literal_column("10000")), Integer).label("postgres_version"),
        _relation_count.label("relation_count"),
        _connection_count.label("connection_count"),
    ),
    into(TargetState),
)


async def find_target_state(db: DatabaseSession) -> TargetState:
    return cast(TargetState, await db.one(_STATE))
