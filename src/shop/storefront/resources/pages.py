"""Page, policy and menu resources."""

from shop.jsonapi.resource import computed, many, one, one_of, resource
from shop.models.content.menus import Menu, PublicMenuItem
from shop.models.content.pages import PublicPage, PublicPolicy

CMS_PAGE = resource(
    "cms_page",
    PublicPage,
    attributes=["title", "content", "locale", "meta_description", "meta_title", "slug", "type"],
    relations=[many("cms_sections", "cms_section")],
)
POLICY = resource(
    "policy",
    PublicPolicy,
    attributes=["name", "slug", "body", "body_html", "show_in_checkout_footer", "created_at", "updated_at"],
)
MENU = resource("menu", Menu, attributes=["name", "location", "locale"], relations=[many("menu_items", "menu_item")])
MENU_ITEM = resource(
    "menu_item",
    PublicMenuItem,
    attributes=[
        "code",
        "name",
        "subtitle",
        "item_type",
        "link",
        "destination",
        "new_window",
        "lft",
        "rgt",
        "depth",
        computed("is_container", lambda item, _context: item.item_type == "Container", bool),
        computed("is_root", lambda item, _context: item.parent_id is None, bool),
        computed("is_child", lambda item, _context: item.parent_id is not None, bool),
        computed("is_leaf", lambda item, _context: item.rgt - item.lft == 1, bool),
    ],
    relations=[
        one("icon", "image"),
        one("menu", "menu"),
        one("parent", "menu_item"),
        one_of("linked_resource", "taxon", "product", "cms_page"),
        many("children", "menu_item"),
    ],
)
