"""Platform resources of content: pages, policies and menus."""

from shop.actions.content import resources as page_resources
from shop.jsonapi.resource import computed, many, one, one_of, resource
from shop.models.content.inputs import CmsPageInput, MenuInput, MenuItemInput, PolicyInput
from shop.models.content.menus import Menu, PlatformMenuItem
from shop.models.content.pages import CmsPage, Policy
from shop.platform.collection import Collection, kinds
from shop.rules.content.markdown import MAX_MARKDOWN_BYTES

_METADATA = ("public_metadata", "private_metadata")
_STAMPS = ("created_at", "updated_at")

CMS_PAGE = resource(
    "cms_page",
    CmsPage,
    attributes=[
        "title",
        "slug",
        "locale",
        "type",
        "visible",
        "content",
        "meta_title",
        "meta_description",
        *_METADATA,
        "content_html",
        computed("deleted_at", lambda _page, _context: None, str | None),
        *_STAMPS,
    ],
    relations=[many("cms_sections", "cms_section")],
)
CMS_PAGES = Collection(
    path="cms_pages",
    access="content",
    resource=CMS_PAGE,
    actions=page_resources.CMS_PAGE,
    writable=kinds(CmsPageInput),
    longest={"content": MAX_MARKDOWN_BYTES},
    required=("title",),
    filters=("title", "slug", "locale", "type", "visible"),
    sorts=("title", "slug"),
    find_by=("id", "slug"),
)
POLICY = resource(
    "policy",
    Policy,
    attributes=["name", "slug", "body", "show_in_checkout_footer", *_METADATA, "body_html", *_STAMPS],
)
POLICIES = Collection(
    path="policies",
    access="content",
    resource=POLICY,
    actions=page_resources.POLICY,
    writable=kinds(PolicyInput),
    longest={"body": MAX_MARKDOWN_BYTES},
    required=("name",),
    filters=("name", "slug", "show_in_checkout_footer"),
    sorts=("name", "slug"),
    find_by=("id", "slug"),
)
MENU = resource(
    "menu",
    Menu,
    attributes=["name", "location", "locale", *_STAMPS],
    relations=[many("menu_items", "menu_item")],
)
MENUS = Collection(
    path="menus",
    access="content",
    resource=MENU,
    actions=page_resources.MENU,
    writable=kinds(MenuInput),
    required=("name", "location"),
    filters=("name", "location", "locale"),
    sorts=("name", "location"),
)
MENU_ITEM = resource(
    "menu_item",
    PlatformMenuItem,
    attributes=[
        "name",
        "subtitle",
        "code",
        "item_type",
        "linked_resource_type",
        "destination",
        "new_window",
        "link",
        "position",
        "lft",
        "rgt",
        "depth",
        computed("is_container", lambda item, _context: item.item_type == "Container", bool),
        computed("is_root", lambda item, _context: item.parent_id is None, bool),
        computed("is_child", lambda item, _context: item.parent_id is not None, bool),
        computed("is_leaf", lambda item, _context: item.rgt - item.lft == 1, bool),
        *_STAMPS,
    ],
    relations=[
        one("icon", "image"),
        one("menu", "menu"),
        one("parent", "menu_item"),
        one_of("linked_resource", "taxon", "product", "cms_page"),
        many("children", "menu_item"),
    ],
)
MENU_ITEMS = Collection(
    path="menu_items",
    access="content",
    resource=MENU_ITEM,
    actions=page_resources.MENU_ITEM,
    writable=kinds(MenuItemInput),
    required=("name", "menu_id"),
    create_only=("menu_id",),
    filters=("name", "code", "item_type", "linked_resource_type", "menu_id", "parent_id", "depth"),
    sorts=("lft", "name"),
)
