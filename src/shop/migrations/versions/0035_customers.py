"""Adds phone numbers, notes, tags and erasures of customers, and the words by which the dashboard finds them.

Triggers fill the words, so that nodes of the previous version fill them too. The next migration adds those of existing
customers.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

_MARKS = "[\u0300-\u036f]+"
_SEPARATORS = (
    "[\u0001-/:-@\\[-`{-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u0589\u05be\u060c\u061b\u061f\u06d4"
    "\u0964\u0965\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u30a0\u30fb"
    "\ufe30-\ufe6f\ufeff-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\U0001f000-\U0001faff]+"
)
_LETTERS = ("\u00f8\u0142\u0111\u0131\u03c2", "oldi\u03c3")
_DOUBLE_LETTERS = {"\u00df": "ss", "\u00e6": "ae", "\u0153": "oe"}


def upgrade() -> None:
    empty = sa.text("'{}'::text[]")
    op.add_column("users", sa.Column("phone", sa.Text(), nullable=True))
    op.add_column("users", sa.Column("note", sa.Text(), nullable=True))
    op.add_column("users", sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default=empty, nullable=False))
    op.add_column("users", sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "erasures",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("last_order_id", sa.UUID(), nullable=True),
        sa.Column("order_count", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(email is null) = (ended_at is not null)", name=op.f("ck_erasures_forgets_the_address")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_erasures_user_id"), ondelete="cascade"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasures")),
        sa.UniqueConstraint("user_id", name=op.f("uq_erasures_user_id")),
    )
    unfinished = sa.text("ended_at is null")
    op.create_index("ix_erasures_unfinished", "erasures", ["created_at"], postgresql_where=unfinished)
    op.create_table(
        "customer_lookups",
        sa.Column("user_id", sa.UUID(), nullable=False),
        sa.Column("search", postgresql.TSVECTOR(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_customer_lookups_user_id"), ondelete="cascade"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_customer_lookups")),
    )
    op.create_index("ix_customer_lookups_search", "customer_lookups", ["search"], postgresql_using="gin")
    _functions()
    op.execute(
        """create trigger sync_customer_lookup
        after insert or update of email, first_name, last_name, phone on users
        for each row execute function sync_customer_lookup()"""
    )
    op.execute(
        """create trigger sync_customer_lookup
        after insert or update or delete on addresses
        for each row execute function sync_address_lookup()"""
    )


def _functions() -> None:
    letters = f"translate(lower(normalize(regexp_replace(normalize(words, NFKD), '{_MARKS}', '', 'g'), NFC)),"
    letters += f" '{_LETTERS[0]}', '{_LETTERS[1]}')"
    for letter, pair in _DOUBLE_LETTERS.items():
        letters = f"replace({letters}, '{letter}', '{pair}')"
    functions = (
        f"""create function fold_words(words text) returns text language sql immutable as $$
            select regexp_replace({letters}, '{_SEPARATORS}', ' ', 'g')
        $$""",
        f"""create function refresh_customer_lookup(customer_id uuid) returns void language sql as $$
            insert into customer_lookups (user_id, search)
            select id, to_tsvector('simple'::regconfig, fold_words(left(concat_ws(' ',
                email, first_name, last_name, {_phone_words("users")},
                (select string_agg(concat_ws(' ', firstname, lastname, company, {_phone_words("addresses")}), ' ')
                from addresses where user_id = users.id and deleted_at is null)
            ), 50000))) from users where id = customer_id
            on conflict (user_id) do update set search = excluded.search
        $$""",
        """create function sync_customer_lookup() returns trigger language plpgsql as $$
        begin
            perform refresh_customer_lookup(new.id);
            return null;
        end $$""",
        """create function sync_address_lookup() returns trigger language plpgsql as $$
        begin
            if tg_op <> 'DELETE' and new.user_id is not null then
                perform refresh_customer_lookup(new.user_id);
            end if;
            if tg_op <> 'INSERT' and old.user_id is not null then
                perform refresh_customer_lookup(old.user_id);
            end if;
            return null;
        end $$""",
    )
    for function in functions:
        op.execute(sa.text(function.replace(":", "\\:")))


def _phone_words(table: str) -> str:
    """Returns a phone number also written together, and without the code of the country."""
    digits = f"regexp_replace({table}.phone, '[^0-9]+', '', 'g')"
    return f"{table}.phone, {digits}, right({digits}, 10)"
