"""How a SQLAlchemy statement becomes text that asyncpg runs: compiled once, with named parameters kept in order."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from sqlalchemy import BigInteger, Interval, bindparam, literal_column
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.visitors import iterate

R = TypeVar("R")

_DIALECT = PGDialect_asyncpg()  # type: ignore[no-untyped-call]
# asyncpg speaks UUID, numbers and times itself; the only values SQLAlchemy would change on the way are none of ours.


class Statement(Generic[R]):
    """A compiled statement: `read` makes the typed result of one record."""

    __slots__ = ("constants", "names", "parameters", "read", "sql", "writes")

    def __init__(
        self, sql: str, parameters: tuple[str, ...], constants: Mapping[str, Any], writes: bool, read: Any
    ) -> None:
        self.sql = sql
        self.parameters = parameters
        self.constants = constants
        self.writes = writes
        self.read: Callable[[Any], R] = read

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the order of the statement's placeholders."""
        if not self.constants:
            return [values[name] for name in self.parameters]
        constants = self.constants
        return [values[name] if name in values else constants[name] for name in self.parameters]


STATEMENTS: list[Statement[Any]] = []
"""Every statement of the program, so that a test can PREPARE them all against the migrated schema."""


def statement(clause: ClauseElement, read: Callable[[Any], R]) -> Statement[R]:
    """Compiles `clause` once; its bind parameters become keyword arguments of the call that runs it."""
    made = shaped_statement(clause, read)
    STATEMENTS.append(made)
    return made


def shaped_statement(clause: ClauseElement, read: Callable[[Any], R]) -> Statement[R]:
    """The same for a statement whose shape a request decides; whoever makes it keeps it."""
    compiled = cast(SQLCompiler, clause.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True}))
    names = tuple(compiled.positiontup or ())
    constants = {name: compiled.params[name] for name in names if not compiled.binds[name].required}
    writes = any(isinstance(part, UpdateBase) for part in iterate(clause))
    return Statement[R](str(compiled), names, constants, writes, read)


def into(row: type[R]) -> Callable[[Any], R]:
    """Reads a record whose columns are the fields of `row`."""
    return lambda record: row(**record)


def seconds(name: str) -> Any:
    """A parameter in seconds, as an interval."""
    return bindparam(name, type_=BigInteger) * literal_column("interval '1 second'", Interval)
