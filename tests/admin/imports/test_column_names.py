"""The names under which the columns of CSV files can be chosen."""

import pytest

from shop.admin.imports.column_names import name_column
from shop.rules.imports.csv_columns import target_columns
from tests.admin.catalog_forms import redirect_path
from tests.admin.dashboard import Dashboard
from tests.admin.imports.test_csv_imports import upload


@pytest.mark.parametrize("kind", ["products", "stock", "customers"])
def test_the_columns_that_can_be_chosen_have_different_names(kind: str) -> None:
    columns = target_columns(kind, ["USD", "EUR"])

    names = {name_column(column) for column in columns}

    assert len(names) == len(columns)
    assert not {name for name in names if "_" in name or name != name[:1].upper() + name[1:]}


async def test_the_columns_of_a_file_are_chosen_by_name(dashboard: Dashboard) -> None:
    path = redirect_path(await upload(dashboard, "sku,location,count_on_hand\nx,y,1\n", "stock"))

    page = (await dashboard.get(path)).text

    assert '<option value="count_on_hand" selected>Stock on hand</option>' in page
