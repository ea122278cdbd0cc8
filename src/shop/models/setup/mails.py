"""The settings of an e-mail: whether it is sent, and the texts that an operator changed."""

import msgspec

TEXT_NAMES = ("subject", "heading", "body", "button", "footer")


class MailSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Saved in `shops.mails` by kind of e-mail; a text that is not here is the default."""

    is_on: bool = True
    texts: dict[str, str] = {}


NO_MAIL_SETTINGS = MailSettings()
