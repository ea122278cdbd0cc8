"""Links of invitations: derived from a server key, so that the e-mail can contain what is not stored."""

from uuid import UUID

from shop.base.crypto.keys import Keys
from shop.base.crypto.secrets import OPERATOR_LINK, secret_text

INVITATION_MAIL = "operator_invitation"
INVITATION_SECONDS = 3 * 24 * 3600


def invitation_secret(keys: Keys, key_id: str, link_id: UUID) -> str:
    return secret_text(OPERATOR_LINK, keys.mac(key_id, "operator invitation", link_id.bytes))
