"""The menu of the dashboard: its entries by group, and which of them an operator sees."""

from collections.abc import Callable

import msgspec


class MenuEntry(msgspec.Struct, frozen=True):
    """An entry of the menu; it is current on its page and on the pages below."""

    path: str
    icon: str
    text: str
    is_exact: bool = False
    """Whether it is current on its own page only."""
    others: tuple[str, ...] = ()
    """Further paths on whose pages it is current."""

    def is_current(self, path: str) -> bool:
        if self.is_exact:
            return path == self.path
        return any(path == each or path.startswith(f"{each}/") for each in (self.path, *self.others))


class MenuGroup(msgspec.Struct, frozen=True):
    """Entries below a heading; the first group has none."""

    heading: str
    entries: tuple[MenuEntry, ...]


_IMPORTS = "Import and export"
_MENU = (
    MenuGroup(
        "",
        (
            MenuEntry("/admin", "overview", "Overview", is_exact=True),
            MenuEntry("/admin/orders", "orders", "Orders", others=("/admin/carts", "/admin/archive")),
            MenuEntry("/admin/drafts", "drafts", "Drafts"),
            MenuEntry("/admin/approvals", "payments", "Approvals"),
            MenuEntry("/admin/customers", "customers", "Customers"),
            MenuEntry("/admin/reports", "reports", "Reports"),
        ),
    ),
    MenuGroup(
        "Catalog",
        (
            MenuEntry("/admin/products", "products", "Products"),
            MenuEntry("/admin/taxons", "taxons", "Categories"),
            MenuEntry("/admin/stock", "stock", "Stock"),
            MenuEntry("/admin/price-lists", "prices", "Price lists"),
            MenuEntry("/admin/promotions", "promotions", "Promotions"),
            MenuEntry("/admin/customer-groups", "groups", "Customer groups"),
            *(MenuEntry(f"/admin/imports/{kind}", "imports", _IMPORTS) for kind in ("products", "stock", "customers")),
        ),
    ),
    MenuGroup(
        "Integrations",
        (
            MenuEntry("/admin/integrations/api", "api", "API"),
            MenuEntry("/admin/events", "events", "Events"),
            MenuEntry("/admin/integrations/webhooks", "webhooks", "Webhooks"),
            MenuEntry("/admin/integrations/extensions", "extensions", "Extensions"),
        ),
    ),
    MenuGroup(
        "Settings",
        (
            MenuEntry("/admin/settings", "settings", "All settings", is_exact=True),
            MenuEntry("/admin/settings/shop", "shop", "Shop"),
            MenuEntry("/admin/settings/website", "website", "Website"),
            MenuEntry("/admin/settings/policies", "policies", "Policies"),
            MenuEntry("/admin/settings/mails", "mailbox", "E-mails"),
            MenuEntry("/admin/settings/documents", "documents", "Documents"),
            MenuEntry("/admin/settings/zones", "zones", "Zones"),
            MenuEntry("/admin/settings/taxes", "taxes", "Taxes"),
            MenuEntry("/admin/settings/shipping", "shipping", "Shipping"),
            MenuEntry("/admin/settings/payments", "payments", "Payments"),
            MenuEntry("/admin/settings/operators", "operators", "Staff"),
            MenuEntry("/admin/audit", "audit", "Audit"),
            MenuEntry("/admin/settings/backups", "backups", "Backups"),
            MenuEntry("/admin/settings/checks", "checks", "Checks"),
        ),
    ),
)
_EXTENSION_ENTRIES: list[MenuEntry] = []
_TRYOUT = MenuGroup("Try-out", (MenuEntry("/mailbox", "mailbox", "Mailbox"),))


def add_entry(text: str, path: str) -> None:
    """Adds an entry of an extension."""
    _EXTENSION_ENTRIES.append(MenuEntry(path, "extensions", text))


def _all_groups() -> tuple[MenuGroup, ...]:
    return (*_MENU, MenuGroup("Extensions", tuple(_EXTENSION_ENTRIES))) if _EXTENSION_ENTRIES else _MENU


def list_groups(can_open: Callable[[str, str], bool], *, has_mailbox: bool) -> list[MenuGroup]:
    """Returns the groups with the entries that the operator may open; of several with the same text, the first."""
    groups = []
    for group in (*_all_groups(), *([_TRYOUT] if has_mailbox else [])):
        entries = {entry.text: entry for entry in reversed(group.entries) if can_open("GET", entry.path)}
        groups.append(MenuGroup(group.heading, tuple(entry for entry in group.entries if entry in entries.values())))
    return [group for group in groups if group.entries]


def find_current(path: str) -> str | None:
    """Returns the text of the entry that is current on a page."""
    entries = (entry for group in _all_groups() for entry in group.entries)
    return next((entry.text for entry in entries if entry.is_current(path)), None)
