"""The records of pages, policies and menus that operators and machines change."""

from shop.actions.content import menus, pages
from shop.actions.records import Noun, plain
from shop.models.content.menus import LinkedItem, Menu, menu_items
from shop.models.content.menus import menus as menu_table
from shop.models.content.pages import CmsPage, Policy, cms_pages, policies
from shop.queries.content.menus import LINKED_COLUMNS
from shop.queries.records import Records

_page_records = Records(table=cms_pages, row=CmsPage)
CMS_PAGE = Noun("cms_page", _page_records, pages.create_page, pages.update_page, plain(_page_records)["delete"])
_policy_records = Records(table=policies, row=Policy)
POLICY = Noun("policy", _policy_records, pages.create_policy, pages.update_policy, plain(_policy_records)["delete"])
MENU = Noun("menu", Records(table=menu_table, row=Menu), menus.create_menu, menus.update_menu, menus.delete_menu)
MENU_ITEM = Noun(
    "menu_item",
    Records(table=menu_items, row=LinkedItem, extras=LINKED_COLUMNS),
    menus.create_item,
    menus.update_item,
    menus.delete_item,
    menus.lock_menu_of,
)
