"""The request data that computed fields may use."""

from uuid import UUID

import msgspec

from shop.base.actor import GUEST, Claim
from shop.base.crypto.keys import Keys
from shop.web.image_urls import ImageOptions


class Viewer(msgspec.Struct, frozen=True):
    """The caller of a request: token keys, claim, session and display settings."""

    keys: Keys
    claim: Claim = GUEST
    session_id: UUID | None = None
    is_list: bool = False
    default_country: str = ""
    currency: str = ""
    """The shop's first currency."""
    image_options: ImageOptions = ImageOptions()
