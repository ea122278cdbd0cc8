"""Every table is part of the file of a whole shop or left out for a reason."""

from importlib import import_module

from shop.db.rows import metadata
from shop.migrations.upgrade import MODEL_MODULES
from shop.models.shop_files.tables import EXPORT_TABLES, INTERNAL_COLUMNS, LEFT_OUT, SECRET_COLUMNS
from shop.queries.shop_files.imports import line_type
from tests import export_format

for name in MODEL_MODULES:
    import_module(name)


def test_every_table_is_exported_or_left_out_for_a_reason() -> None:
    names = [table.name for table in EXPORT_TABLES]

    assert len(names) == len(set(names))
    assert not set(names) & set(LEFT_OUT)
    assert set(metadata.tables) - set(names) - set(LEFT_OUT) == set(), (
        "add the new table to EXPORT_TABLES or LEFT_OUT in models/shop_files/tables.py"
    )
    assert set(LEFT_OUT) <= set(metadata.tables)


def test_a_table_comes_after_the_tables_that_it_refers_to() -> None:
    position = {table.name: number for number, table in enumerate(EXPORT_TABLES)}

    assert [
        f"{table.name} comes before {key.column.table.name}"
        for table in EXPORT_TABLES
        for key in table.foreign_keys
        if key.column.table is not table and position[key.column.table.name] > position[table.name]
    ] == []


def test_every_column_has_a_type_in_the_file() -> None:
    for table in EXPORT_TABLES:
        line_type(table, [str(column.name) for column in table.columns])


def test_a_column_that_a_file_may_lack_has_a_default() -> None:
    for columns in (SECRET_COLUMNS, INTERNAL_COLUMNS):
        for name, hidden_columns in columns.items():
            for each in hidden_columns:
                column = metadata.tables[name].c[each]
                assert column.nullable or column.server_default is not None, column


def test_the_description_of_the_format_matches_the_tables() -> None:
    assert export_format.PAGE.read_text() == export_format.write_page(), "run `.venv/bin/python -m tests.export_format`"
