"""Menu items as the Platform API and the event log read them."""

from shop.models.content.menus import PlatformMenuItem, menu_items
from shop.queries.content.menus import LINKED_COLUMNS
from shop.queries.records import Records

MENU_ITEMS = Records(table=menu_items, row=PlatformMenuItem, extras=LINKED_COLUMNS)
