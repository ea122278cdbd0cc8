"""Who looks at a document: what computed fields may know of the request."""

from uuid import UUID

import msgspec

from shop.base.actor import GUEST, Claim
from shop.base.keys import Keys
from shop.web.pictures import Look


class Viewer(msgspec.Struct, frozen=True):
    """The keys with which tokens are made, what the caller claimed, and the session they are in."""

    keys: Keys
    claim: Claim = GUEST
    session_id: UUID | None = None
    is_list: bool = False
    default_country: str = ""
    currency: str = ""
    """In which the shop sells first."""
    look: Look = Look()
