"""The settings of the website: brand and home page."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

Font = Literal["sans", "serif", "rounded", "mono"]
MAX_FEATURED = 12
MAX_RADIUS = 24


class WebsiteImage(msgspec.Struct, frozen=True):
    """An image of the shop and its size, so that a page needs no query to show it."""

    id: UUID
    width: int
    height: int


class WebsiteSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Brand and home page, saved in `shops.website`. Records that no longer exist are ignored."""

    accent: Annotated[str, Meta(pattern="^#[0-9a-f]{6}$")] = "#1d5c48"
    """The accent color of the light theme; the dark theme derives a lighter one."""
    radius: Annotated[int, Meta(ge=0, le=MAX_RADIUS)] = 12
    """The corner radius in pixels."""
    font: Font = "sans"
    logo: WebsiteImage | None = None
    """Without one, the shop's name is shown."""
    hero_title: Annotated[str, Meta(max_length=120)] = ""
    hero_text: Annotated[str, Meta(max_length=400)] = ""
    hero_image: WebsiteImage | None = None
    hero_taxon_id: UUID | None = None
    """The category that the hero links to."""
    announcement: Annotated[str, Meta(max_length=200)] = ""
    """A line above the header of every page."""
    promotion_id: UUID | None = None
    """The promotion in the banner of the home page; shown while it runs."""
    featured_taxon_ids: Annotated[tuple[UUID, ...], Meta(max_length=MAX_FEATURED)] = ()
    featured_product_ids: Annotated[tuple[UUID, ...], Meta(max_length=MAX_FEATURED)] = ()
    description: Annotated[str, Meta(max_length=300)] = ""
    """The description of the shop for search engines."""

    @property
    def logo_id(self) -> UUID | None:
        return self.logo.id if self.logo else None

    @property
    def hero_image_id(self) -> UUID | None:
        return self.hero_image.id if self.hero_image else None
