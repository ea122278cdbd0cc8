"""How a SQLAlchemy statement becomes text that asyncpg runs: compiled once, when it is first wanted, with named
parameters kept in order.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from sqlalchemy import BigInteger, Interval, bindparam, literal_column, select
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
# asyncpg speaks UUID, numbers and times itself; the only values SQLAlchemy would change on the way are none of ours.


class Statement(Generic[R]):
    """A statement: `read` makes the typed result of one record. To compile the hundreds that there are would take a
    fifth of every start.
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
        """Asked only for what is not there yet."""
        if name not in {"sql", "parameters", "constants", "writes"}:
            raise AttributeError(name)
        clause = self._clause
        compiled = cast(SQLCompiler, clause.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True}))
        self.parameters = tuple(compiled.positiontup or ())
        self.constants = {each: compiled.params[each] for each in self.parameters if not compiled.binds[each].required}
        self.writes = not self._prefix and any(isinstance(part, UpdateBase) for part in iterate(clause))
        self.sql = self._prefix + str(compiled)
        return getattr(self, name)

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the order of the statement's placeholders."""
        if not self.constants:
            return [values[name] for name in self.parameters]
        constants = self.constants
        return [values[name] if name in values else constants[name] for name in self.parameters]


STATEMENTS: list[Statement[Any]] = []
"""Every statement of the program, so that a test can PREPARE them all against the migrated schema."""


def statement(clause: ClauseElement, read: Callable[[Any], R]) -> Statement[R]:
    """The bind parameters of `clause` become keyword arguments of the call that runs it."""
    made = shaped_statement(clause, read)
    STATEMENTS.append(made)
    return made


def shaped_statement(clause: ClauseElement, read: Callable[[Any], R]) -> Statement[R]:
    """The same for a statement whose shape a request decides; whoever makes it keeps it."""
    return Statement[R](clause, read)


def planned(clause: ClauseElement, read: Callable[[Any], R]) -> Statement[R]:
    """What the database would do for it, instead of doing it."""
    return Statement[R](clause, read, "EXPLAIN (FORMAT JSON) ")


def into(row: type[R]) -> Callable[[Any], R]:
    """Reads a record whose columns are the fields of `row`."""
    return lambda record: row(**record)


def unseen(name: str, type_: Any) -> Any:
    """A parameter that the planner cannot look at. Where it can, it makes a plan for each value anew as long as that
    looks the least bit cheaper; for what a cart asks for, planning takes longer than doing.
    """
    return sql_cast(select(bindparam(name, type_=type_)).scalar_subquery(), type_)


def among(name: str, type_: Any) -> Any:
    """Any member of an array that the planner cannot look at: it would count the members, and plan for each number."""
    return sql_any(unseen(name, ARRAY(type_)))


def seconds(name: str) -> Any:
    """A parameter in seconds, as an interval."""
    return bindparam(name, type_=BigInteger) * literal_column("interval '1 second'", Interval)
