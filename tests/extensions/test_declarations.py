"""What an extension declares is checked before the shop starts, and every error names the extension."""

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Column, SmallInteger, Table

from shop.app import extensions as loader
from shop.app.extension_checks import list_errors
from shop.base.config.settings import read_settings
from shop.base.errors import CannotStart
from shop.extension import (
    DashboardPage,
    EventListener,
    Extension,
    ExtensionMail,
    ExtensionTables,
    MailDefinition,
    MenuLink,
    PaymentProvider,
    Row,
    ShippingCalculator,
    key,
    platform_resource,
)


class GoodRow(Row, frozen=True, kw_only=True):
    """A row of an extension."""

    id: str


class GoodSettings(msgspec.Struct, frozen=True):
    """Settings of an extension."""

    count: int = 3
    is_on: bool = False


async def handle(_ctx: Any, _argument: Any) -> Any:
    return None


def cost(_package: Any, _amounts: Any) -> int | None:
    return 1


def declare(**parts: Any) -> Extension:
    return Extension(**{"name": "good", "version": "1", "api_version": 1, **parts})


def resource_named(name: str, path: str) -> Any:
    tables = ExtensionTables("good")
    table = tables.table("rows", GoodRow, key("id"))
    return platform_resource(name, path=path, access="orders", table=table, row=GoodRow, attributes=[])


def foreign_tables() -> ExtensionTables:
    tables = ExtensionTables("other")
    tables.table("rows", GoodRow, key("id"))
    return tables


def page(**fields: Any) -> DashboardPage:
    return DashboardPage(**{"handler": handle, "summary": "A page", "permission": "orders:read", **fields})


def mail_with(**fields: Any) -> ExtensionMail:
    texts = {"subject": "A", "heading": "B", "body": "C", "name": "Note", "sent_when": "Never", "variables": {}}
    return ExtensionMail(definition=MailDefinition(**{"kind": "x_good_note", **texts, **fields}), load=handle)


def odd_tables() -> ExtensionTables:
    tables = ExtensionTables("good")
    Table("x_good_odd", tables.metadata, Column("size", SmallInteger()))
    return tables


WRONG: dict[str, tuple[Extension, str]] = {
    "another version of the interface": (declare(api_version=2), "needs version 2 of shop.extension"),
    "a name with a line": (declare(name="not-good"), "2 to 20 lower-case letters"),
    "another entry point": (declare(name="better"), "its entry point is named good"),
    "a table of another prefix": (declare(tables=foreign_tables(), migrations=Path(__file__).parent), "x_good_"),
    "no folder of migrations": (declare(migrations=Path("/proc/none")), "does not exist"),
    "a type that exists": (declare(resources=[resource_named("order", "good_rows")]), "type order that exists already"),
    "a path that exists": (
        declare(resources=[resource_named("good_row", "orders")]),
        "path orders that exists",
    ),
    "an unknown permission": (declare(pages=[page(permission="points:read")]), "points:read is unknown"),
    "a page twice": (declare(pages=[page(), page()]), "/admin/x/good is declared twice"),
    "a menu entry without a page": (declare(menu=[MenuLink("Points")]), "leads to no page"),
    "a wrong type of event": (
        declare(listeners=[EventListener(name="orders", types=["orders"], handler=handle)]),
        "does not look like order.completed",
    ),
    "no type of event": (declare(listeners=[EventListener(name="orders", types=[], handler=handle)]), "has no types"),
    "a handler that is not async": (declare(pages=[page(handler=len)]), "must be declared with async def"),
    "a provider of another prefix": (
        declare(payment_providers=[PaymentProvider(type="stripe", label="Stripe", execute=handle, find=handle)]),
        "stripe must begin with x_good_",
    ),
    "a rate twice": (
        declare(shipping_calculators=[ShippingCalculator(type="x_good_a", label="A", calculate=cost)] * 2),
        "x_good_a is declared twice",
    ),
    "an unknown variable of an e-mail": (declare(mails=[mail_with(body="{{ amount }}")]), "there is no variable"),
    "an e-mail without its part": (declare(mails=[mail_with(part_example={})]), "needs the template parts/x_good_note"),
    "an e-mail of another prefix": (
        declare(mails=[mail_with(kind="login_code")]),
        "login_code must begin",
    ),
    "a column of another type": (declare(tables=odd_tables(), migrations=Path(__file__).parent), "x_good_odd.size"),
    "no folder of templates": (declare(dashboard_templates=Path("/proc/none")), "does not exist"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_a_wrong_declaration_is_refused(case: str) -> None:
    extension, text = WRONG[case]

    assert text in " ".join(list_errors(extension, "good"))


def test_a_right_declaration_has_no_errors() -> None:
    assert list(list_errors(declare(pages=[page()], menu=[MenuLink("Good")]), "good")) == []


def test_a_template_that_cannot_be_compiled_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("{% if %}")

    assert "page.html cannot be compiled" in " ".join(list_errors(declare(dashboard_templates=tmp_path), "good"))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("EXTENSION = 3", "its entry point is int"),
        ("", "AttributeError"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_named(
    source: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"broken_{abs(hash(source))}"
    (tmp_path / f"{module}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(CannotStart) as error:
        loader.load_declaration(EntryPoint("broken", f"{module}:EXTENSION", loader.GROUP))

    assert str(error.value).startswith("The extension broken cannot be loaded: ")
    assert text in str(error.value)
    assert "SHOP_EXTENSIONS" in str(error.value)


def test_settings_have_the_prefix_of_the_extension() -> None:
    settings = read_settings({"SHOP_X_GOOD_COUNT": "7", "SHOP_X_GOOD_IS_ON": "true", "SHOP_X_OTHER_COUNT": "9"})

    assert loader.read_settings(declare(settings=GoodSettings), settings) == GoodSettings(7, True)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("SHOP_X_GOOD_COUNTS", "7", "did you mean SHOP_X_GOOD_COUNT?"),
        ("SHOP_X_GOOD_COUNT", "seven", "cannot be read"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str, text: str) -> None:
    with pytest.raises(CannotStart) as error:
        loader.read_settings(declare(settings=GoodSettings), read_settings({name: value}))

    assert "the extension good" in str(error.value)
    assert text in str(error.value)


def test_shop_extensions_selects_extensions_by_name() -> None:
    off, other = read_settings({"SHOP_EXTENSIONS": "off"}), read_settings({"SHOP_EXTENSIONS": "absent"})

    assert loader.select_entry_points(off) == []
    with pytest.raises(CannotStart, match="SHOP_EXTENSIONS names absent, which is not installed"):
        loader.select_entry_points(other)


@pytest.mark.parametrize("text", ["Loyalty", "a b", ";", "../x"])
def test_shop_extensions_takes_only_names(text: str) -> None:
    with pytest.raises(CannotStart, match="SHOP_EXTENSIONS cannot be read"):
        read_settings({"SHOP_EXTENSIONS": text})
