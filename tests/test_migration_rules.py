"""Migrations take no long locks: the linter that refuses those that would stop the shop."""

from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from shop.migrations.online_rules import find_violations
from shop.migrations.upgrade import alembic_config, list_statements

LAST_UNCHECKED = "0050"

ONLINE = [
    ["create table brands (id uuid not null)", "create index ix_brands on brands (id)", "insert into brands select 1"],
    ["alter table orders add column note text"],
    ["alter table orders add column note text default '' not null, add column size bigint default -1"],
    ["ALTER TABLE orders ADD COLUMN tags TEXT[] DEFAULT '{}'::text[] NOT NULL"],
    ["alter table orders add column changed_at timestamp with time zone default now()"],
    ["create index concurrently ix_orders_note on orders (note)"],
    ["alter table orders add constraint ck_note check (note <> '') not valid", "alter table orders drop constraint x"],
    ["alter table orders validate constraint ck_note"],
    ["alter table orders alter column note drop not null"],
    ["insert into shop_settings (name) values ('x')"],
    ["set lock_timeout = 0", "create index concurrently ix_a on orders (note)", "set lock_timeout = '100ms'"],
    ["BEGIN", "UPDATE alembic_version SET version_num='2' WHERE alembic_version.version_num = '1'", "COMMIT"],
]
OFFLINE = [
    ["create index ix_orders_note on orders (note)"],
    ["drop index ix_orders_note"],
    ["alter table orders add column id2 uuid default gen_random_uuid()"],
    ["alter table orders add column user_id uuid references users (id)"],
    ["alter table orders add column number bigserial"],
    ["alter table orders add column note text, add column sum bigint generated always as (1) stored"],
    ["alter table orders add constraint ck_note check (note <> '')"],
    ["alter table orders alter column note type varchar(20)"],
    ["alter table orders alter column note set not null"],
    ["alter table orders drop column note"],
    ["alter table orders rename column note to notes"],
    ["alter table orders rename to purchases"],
    ["drop table orders"],
    ["update orders set note = ''"],
    ["delete from orders"],
    ["insert into order_notes select id from orders"],
    ["truncate orders"],
    ["set lock_timeout = 0", "alter table orders add column note text"],
    ["SET LOCAL lock_timeout TO '5s'", "alter table orders add column note text"],
    ["select set_config('lock_timeout', '5s', true)", "alter table orders add column note text"],
    ["create index concurrently ix_orders_note on orders (note)", "alter table orders add column note text"],
    ["alter table orders validate constraint ck_note", "alter table orders add column note text"],
]


def test_migrations_are_online_unless_they_say_why_not() -> None:
    script = ScriptDirectory.from_config(alembic_config(""))
    revisions = [each for each in script.walk_revisions(LAST_UNCHECKED, "head") if each.revision != LAST_UNCHECKED]
    violations = {
        each.revision: problems
        for each in revisions
        if "# offline: " not in Path(each.path).read_text()
        and (problems := find_violations(list_statements(each.revision)))
    }

    assert not violations, "see docs/upgrading.md"


@pytest.mark.parametrize("statements", ONLINE)
def test_statements_that_can_run_while_the_shop_serves(statements: list[str]) -> None:
    assert find_violations(statements) == []


@pytest.mark.parametrize("statements", OFFLINE)
def test_statements_that_would_stop_the_shop_are_refused(statements: list[str]) -> None:
    assert find_violations(statements)
