"""Texts of the e-mails to operators about their own account or the shop, by action of the audit event."""

import msgspec


class NoticeText(msgspec.Struct, frozen=True):
    """A subject, and a body of one or two sentences."""

    subject: str
    body: str
    page: str | None = None
    """The path of the page about it, followed by the id of the subject; None if it is about the operator's account."""


NOTICES = {
    "totp_enrolled": NoticeText(
        "An authenticator was set up",
        "An authenticator was set up for your account. Your other sessions were ended, and every sign-in now "
        "requires its code.",
    ),
    "totp_replaced": NoticeText(
        "Your authenticator was replaced",
        "The authenticator of your account was replaced. The old one and its recovery codes no longer work, and "
        " your other sessions were ended.",
    ),
    "totp_removed": NoticeText(
        "Your authenticator was removed",
        "The authenticator of your account was removed: your password alone is enough to sign in. Your other sessions "
        "were ended.",
    ),
    "recovery_codes_replaced": NoticeText(
        "You have new recovery codes",
        "New recovery codes were created for your account. The old ones no longer work.",
    ),
    "recovery_code_used": NoticeText(
        "A recovery code was used",
        "A recovery code of your account was used in place of an authenticator code. Codes left: {left}.",
    ),
    "passkey_added": NoticeText(
        "A passkey was added",
        "A passkey was added to your account. It signs in without your password and authenticator code.",
    ),
    "passkey_removed": NoticeText(
        "A passkey was removed",
        "A passkey of your account was removed and no longer signs in. Your other sessions were ended.",
    ),
    "passkeys_removed": NoticeText(
        "Your passkeys were removed",
        "All passkeys of your account were removed and no longer sign in. Your sessions were ended.",
    ),
    "password_changed": NoticeText(
        "Your password was changed",
        "The password of your account was changed, and your other sessions were ended.",
    ),
    "webhook_endpoint_disabled": NoticeText(
        "A webhook endpoint was disabled",
        "The webhook endpoint {url} was disabled. {reason} It receives no events until an operator enables it again.",
        "/admin/integrations/webhooks",
    ),
}
