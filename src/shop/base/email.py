"""What an e-mail address is to us: where mail goes, who it is, and whose mail budget it spends."""

import string

import idna
import msgspec
from email_validator import EmailNotValidError, validate_email

MAX_OCTETS = 254
# Dots of other scripts, which the encoder below would take for ours.
_OTHER_DOTS = frozenset("\u3002\uff0e\uff61")
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class Email(msgspec.Struct, frozen=True):
    """`address` as typed but for its domain; `key` is the identity; `budget_key` folds `+tag` and dots."""

    address: str
    key: str
    budget_key: str


def read_email(text: str) -> Email | None:
    """None when it is not one deliverable ASCII mailbox."""
    local, at, domain = text.rpartition("@")
    # Checked before any lower-casing: the Kelvin sign's lower case is an ordinary k, and would be someone else.
    if not at or not local.isascii() or len(text.encode("utf-8", "replace")) > MAX_OCTETS:
        return None
    domain = domain.translate(_LOWER)
    if not domain.isascii():
        if set(domain) & _OTHER_DOTS:
            return None
        try:
            # IDNA 2008 to the letter, without the mapping that would turn look-alikes into other names.
            domain = idna.encode(domain, uts46=False).decode()
        except (idna.IDNAError, UnicodeError):
            return None
    address = f"{local}@{domain}"
    try:
        validate_email(address, check_deliverability=False, allow_smtputf8=False, test_environment=True, strict=True)
    except EmailNotValidError:
        return None
    if "." not in domain or len(address) > MAX_OCTETS:
        return None
    name = local.translate(_LOWER)
    folded = name.partition("+")[0].replace(".", "") or name
    return Email(address, f"{name}@{domain}", f"{folded}@{domain}")
