"""Page, policy and menu resources that operators and API clients change."""

from shop.actions.content import menus, pages
from shop.actions.records import ResourceActions, default_actions
from shop.models.content.menus import Menu
from shop.models.content.menus import menus as menu_table
from shop.models.content.pages import CmsPage, Policy, cms_pages, policies
from shop.queries.content.records import MENU_ITEMS
from shop.queries.records import Records

_page_records = Records(table=cms_pages, row=CmsPage)
CMS_PAGE = ResourceActions(
    "cms_page", _page_records, pages.create_page, pages.update_page, default_actions(_page_records)["delete"]
)
_policy_records = Records(table=policies, row=Policy)
POLICY = ResourceActions(
    "policy", _policy_records, pages.create_policy, pages.update_policy, default_actions(_policy_records)["delete"]
)
MENU = ResourceActions(
    "menu", Records(table=menu_table, row=Menu), menus.create_menu, menus.update_menu, menus.delete_menu
)
MENU_ITEM = ResourceActions(
    "menu_item",
    MENU_ITEMS,
    menus.create_item,
    menus.update_item,
    menus.delete_item,
    menus.lock_menu_of,
)
