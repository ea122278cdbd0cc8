"""Input of pages, policies and menus: the fields that a request may set, each of them optional."""

from typing import Annotated, Any, TypedDict
from uuid import UUID

import msgspec
from msgspec import Meta


class CmsPageInput(TypedDict, total=False):
    """A page; `content` is Markdown. An empty slug is derived from the title."""

    title: str
    slug: str
    locale: str
    type: str
    visible: bool
    content: str | None
    meta_title: str | None
    meta_description: str | None
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]


class PolicyInput(TypedDict, total=False):
    """A policy; `body` is Markdown. An empty slug is derived from the name."""

    name: str
    slug: str
    body: str | None
    show_in_checkout_footer: bool
    public_metadata: dict[str, Any]
    private_metadata: dict[str, Any]


class MenuInput(TypedDict, total=False):
    """A menu for one location of the storefront."""

    name: str
    location: str
    locale: str


class MenuItemInput(TypedDict, total=False):
    """A menu item, its position in the menu, and the record or URL that it links to."""

    menu_id: UUID
    parent_id: UUID | None
    name: str
    subtitle: str | None
    code: str | None
    item_type: str
    linked_resource_type: str
    destination: str | None
    new_window: bool
    linked_resource_id: UUID | None


class NewItemPlace(msgspec.Struct, frozen=True):
    """The parent of a menu item, and its index among the parent's children."""

    new_parent_id: Annotated[UUID, Meta(description="An item of the same menu, such as its root.")]
    new_position_idx: Annotated[int, Meta(description="Counted from 0; a larger index means last.")]


class MenuItemReposition(msgspec.Struct, frozen=True):
    """The new position of a menu item."""

    menu_item: NewItemPlace
