"""Compiles SQLAlchemy statements to SQL for asyncpg: once, on first use, with named parameters in order."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

import msgspec
from sqlalchemy import BigInteger, Interval, bindparam, column, func, literal_column, select
from sqlalchemy import any_ as sql_any
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.visitors import iterate

R = TypeVar("R")

_DIALECT = PGDialect_asyncpg()  # type: ignore[no-untyped-call]
# asyncpg converts UUIDs, numbers and times; the shop uses no types that SQLAlchemy would have to convert.


class Statement(Generic[R]):
    """A statement, compiled on first use; `read` converts a record to its typed result. Compiling all the hundreds of
    statements would take a fifth of the startup time.
    """

    __slots__ = ("_clause", "_prefix", "constants", "parameters", "read", "sql", "writes")
    sql: str
    parameters: tuple[str, ...]
    constants: Mapping[str, Any]
    writes: bool

    def __init__(self, clause: ClauseElement, read: Any, prefix: str = "") -> None:
        self._clause = clause
        self._prefix = prefix
        self.read: Callable[[Any], R] = read

    def __getattr__(self, name: str) -> Any:
        """Compiles the statement on the first access to one of its attributes."""
        if name not in {"sql", "parameters", "constants", "writes"}:
            raise AttributeError(name)
        clause = self._clause
        compiler = cast(SQLCompiler, clause.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True}))
        self.parameters = tuple(compiler.positiontup or ())
        self.constants = {each: compiler.params[each] for each in self.parameters if not compiler.binds[each].required}
        self.writes = not self._prefix and any(isinstance(part, UpdateBase) for part in iterate(clause))
        self.sql = self._prefix + str(compiler)
        return getattr(self, name)

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Returns the values in the order of the statement's placeholders."""
        if not self.constants:
            return [values[name] for name in self.parameters]
        constants = self.constants
        return [values[name] if name in values else constants[name] for name in self.parameters]


STATEMENTS: list[Statement[Any]] = []
"""All statements of the program, so that a test can PREPARE each against the migrated schema."""


def statement(clause: ClauseElement, read: Callable[[Any], R]) -> Statement[R]:
    """Registers a statement. Its bind parameters become keyword arguments of the call that runs it."""
    instance = dynamic_statement(clause, read)
    STATEMENTS.append(instance)
    return instance


def dynamic_statement(clause: ClauseElement, read: Callable[[Any], R]) -> Statement[R]:
    """Returns a statement that depends on the filters and sort order of the request; the caller caches it."""
    return Statement[R](clause, read)


def explain(clause: ClauseElement, read: Callable[[Any], R]) -> Statement[R]:
    """Returns an EXPLAIN of the statement, which does not run it."""
    return Statement[R](clause, read, "EXPLAIN (FORMAT JSON) ")


def into(row: type[R]) -> Callable[[Any], R]:
    """Returns a reader of records whose columns are the fields of `row`."""
    readers: list[Callable[[Any], R]] = []

    def read(record: Any) -> R:
        if not readers:
            # The first record has the names of the columns.
            readers.append(_build_reader(row, tuple(record.keys())))
        return readers[0](record)

    return read


def into_parts(row: type[R], count: int) -> Callable[[Any], tuple[R, tuple[Any, ...]]]:
    """Returns a reader of records whose first `count` columns are the fields of `row`; it returns the others too."""
    readers: list[Callable[[Any], R]] = []

    def read(record: Any) -> tuple[R, tuple[Any, ...]]:
        if not readers:
            readers.append(_build_reader(row, tuple(record.keys())[:count]))
        return readers[0](record[:count]), record[count:]

    return read


def _build_reader(row: Any, names: tuple[str, ...]) -> Callable[[Any], Any]:
    """Returns a reader of records with these columns. Fields without a column must be the last ones."""
    fields = row.__struct_fields__
    if set(fields[: len(names)]) != set(names):
        return lambda record: row(**record)
    build = row if row.__match_args__ == fields else positional_type(row)
    places = [names.index(name) for name in fields[: len(names)]]
    if places == sorted(places) or len(places) < 2:
        return lambda record: build(*record)
    pick = itemgetter(*places)
    return lambda record: build(*pick(record))


@lru_cache(maxsize=1024)
def positional_type(row: Any) -> Any:
    """Returns a subclass whose fields can be given by position. A row takes keywords only, so that a field with a
    default can come before one without; but fifty keywords cost fifty times as much as fifty positions.
    """
    fields = msgspec.structs.fields(row)
    required_count = max((number for number, field in enumerate(fields, 1) if field.required), default=0)
    definitions = [
        (field.name, field.type) if number < required_count else (field.name, field.type, _default_of(field))
        for number, field in enumerate(fields)
    ]
    return msgspec.defstruct(row.__name__, definitions, bases=(row,), module=row.__module__, frozen=True)


def _default_of(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.field(default_factory=field.default_factory)
    return field.default


def opaque_param(name: str, type_: Any) -> Any:
    """Returns a parameter whose value is hidden from the planner. If visible, PostgreSQL plans again for each value as
    long as that seems slightly cheaper; for the statements of a cart, planning takes longer than execution.
    """
    return sql_cast(select(bindparam(name, type_=type_)).scalar_subquery(), type_)


def parameter_rows(**types: Any) -> Any:
    """Returns array parameters, hidden from the planner, as the columns of a table: a row for each of their places."""
    arrays = [opaque_param(name, ARRAY(type_)) for name, type_ in types.items()]
    columns = [column(name, type_) for name, type_ in types.items()]
    return func.unnest(*arrays).table_valued(*columns, name="parameters").render_derived()


def any_of(name: str, type_: Any) -> Any:
    """Returns ANY of an array that is hidden from the planner, which would plan again for each array length."""
    return sql_any(opaque_param(name, ARRAY(type_)))


def seconds(name: str) -> Any:
    """Returns a parameter in seconds, as an interval."""
    return bindparam(name, type_=BigInteger) * literal_column("interval '1 second'", Interval)
