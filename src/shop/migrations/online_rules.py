"""Finds statements of migrations that would stop the shop, or that the previous version could not be served with."""

import re
from collections.abc import Iterator, Sequence

_TABLE = r"(?:only )?(?:public\.)?(?P<table>\w+)"
_HARMLESS = re.compile(
    r"set |begin$|commit$|create (or replace )?function |create trigger |create type |comment on |grant |"
    r"drop trigger |(update|insert into) alembic_version |"
    # The index of a partitioned table, which is built partition by partition.
    r"create index (if not exists )?\w+ on only |alter index \w+ attach partition "
)
_WAIT = re.compile(r"set (?:local |session )?lock_timeout\b")
_CREATE_TABLE = re.compile(rf"create table (?:if not exists )?{_TABLE}")
_CREATE_INDEX = re.compile(rf"create (?:unique )?index (?P<online>concurrently )?.*? on {_TABLE}")
_DROP_INDEX = re.compile(r"drop index (?P<online>concurrently )?")
_ALTER_TABLE = re.compile(rf"alter table (?:if exists )?{_TABLE} (?P<changes>.*)")
_INSERT = re.compile(rf"insert into {_TABLE} (?P<rest>.*)")
_WRITE = re.compile(rf"(?:update|delete from) {_TABLE}")
_CONSTANT = r"(null|true|false|now\(\)|current_timestamp|-?[0-9.]+|'[^']*')(::[\w ]+(\[\])?)?"
_ADD_COLUMN = re.compile(rf"add column (?:if not exists )?\w+ (?P<type>.+?)(?: default {_CONSTANT})?( not null)?")
_NOT_IN_COLUMN = re.compile(r" (references|unique|primary key|generated|check|default) ?|serial")
_SAFE_CHANGE = re.compile(
    r"drop constraint |alter column \w+ (set default|drop default|drop not null|set statistics|set storage) ?|"
    r"set \(|reset \(|validate constraint |(enable|disable) trigger "
)
_SAFE_CONSTRAINT = re.compile(r"add constraint .*( not valid| using index \w+)")

_LATER = "drop it in the release after the one that no longer uses it, with `# offline: unused since VERSION`"
_REASONS = (
    (re.compile(r"drop column|drop table|rename "), f"the previous version may still use it: {_LATER}"),
    (re.compile(r"alter column \w+ type "), "rewrites the table: add a column, let the worker fill it in batches"),
    (
        re.compile(r"alter column \w+ set not null"),
        "reads the whole table under a lock: add a CHECK constraint NOT VALID, and validate it in the next migration",
    ),
    (re.compile(r"add constraint"), "reads the whole table under a lock: add it NOT VALID, validate it in the next"),
    (re.compile(r"add column"), "may rewrite the table or read all of it: use a constant default and no constraint"),
)


def find_violations(statements: Sequence[str]) -> list[str]:
    """Returns what is wrong with the statements of one migration; empty if they can run while the shop serves."""
    plain = [" ".join(each.replace('"', "").lower().split()).removesuffix(";") for each in statements]
    new_tables = {match["table"] for each in plain if (match := _CREATE_TABLE.match(each))}
    violations = [f"{each[:120]}: {reason}" for each in plain if (reason := _reason(each, new_tables))]
    changes = [each for each in plain if not _HARMLESS.match(each)]
    if any(_WAIT.match(each) for each in plain) and not all(" concurrently " in each for each in changes):
        violations.append("waits longer for a lock than 100 ms: only `online` may set lock_timeout")
    return violations + list(_mixtures(changes))


def _mixtures(statements: Sequence[str]) -> Iterator[str]:
    """A lock is held until the end of the transaction, and an interrupted migration must be able to run again."""
    for word, reason in (
        (" concurrently ", "an index is created or dropped concurrently in a migration of its own"),
        (" validate constraint ", "constraints are validated in a migration of their own"),
    ):
        if 0 < sum(word in each for each in statements) < len(statements):
            yield reason


def _reason(statement: str, new_tables: set[str]) -> str | None:
    if _HARMLESS.match(statement) or _CREATE_TABLE.match(statement):
        return None
    if match := _ALTER_TABLE.match(statement):
        changes = () if match["table"] in new_tables else _split(match["changes"])
        return next((reason for change in changes if (reason := _change_reason(change))), None)
    if match := _CREATE_INDEX.match(statement):
        is_safe = match["online"] or match["table"] in new_tables
        return None if is_safe else "blocks writes while it is built: use `online.create_index`"
    if match := _DROP_INDEX.match(statement):
        return None if match["online"] else "waits for and blocks all requests of the table: use `online.drop_index`"
    return _row_reason(statement, new_tables)


def _row_reason(statement: str, new_tables: set[str]) -> str | None:
    if match := _INSERT.match(statement):
        is_safe = match["table"] in new_tables or not re.search(r"\bselect\b", match["rest"])
        return None if is_safe else "may copy many rows: let the worker fill the table in batches"
    if match := _WRITE.match(statement):
        return None if match["table"] in new_tables else "may change many rows: let the worker change them in batches"
    for pattern, reason in _REASONS:
        if pattern.search(statement):
            return reason
    return "is not known to be safe while the shop serves"


def _change_reason(change: str) -> str | None:
    if _SAFE_CHANGE.match(change) or _SAFE_CONSTRAINT.fullmatch(change):
        return None
    if (match := _ADD_COLUMN.fullmatch(change)) and not _NOT_IN_COLUMN.search(match["type"]):
        return None
    return next(
        (reason for pattern, reason in _REASONS if pattern.match(change)), "is not known to be safe while serving"
    )


def _split(changes: str) -> list[str]:
    """Divides the changes of an ALTER TABLE at the commas that are not within brackets or quotes."""
    parts, depth, start, is_quoted = [], 0, 0, False
    for position, character in enumerate(changes):
        is_quoted ^= character == "'"
        depth += 0 if is_quoted else (character in "([") - (character in ")]")
        if character == "," and not depth and not is_quoted:
            parts.append(changes[start:position].strip())
            start = position + 1
    return [*parts, changes[start:].strip()]
