"""E-mail addresses: for delivery, as an identity, and as the key of a mail budget."""

import string
from functools import lru_cache

import idna
import msgspec
from email_validator import EmailNotValidError, validate_email

MAX_OCTETS = 254
# Full stops of other scripts, which the IDNA encoder would treat as label separators.
_OTHER_DOTS = frozenset("\u3002\uff0e\uff61")
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class Email(msgspec.Struct, frozen=True):
    """`address` preserves the local part as entered; `key` is the identity; `budget_key` ignores `+tag` and dots."""

    address: str
    key: str
    budget_key: str


def read_email(text: str) -> Email | None:
    """Parses an address; None unless it is a single deliverable ASCII mailbox."""
    return _read_email(text) if len(text) <= MAX_OCTETS else None


@lru_cache(maxsize=1024)  # A purchase reads its address four times.
def _read_email(text: str) -> Email | None:
    local, at, domain = text.rpartition("@")
    # Checked before lowercasing: the Kelvin sign lowercases to an ASCII k, which is a different mailbox.
    # A mailer decodes an encoded word: many spellings would reach one mailbox, each with its own budget.
    if not at or not local.isascii() or "=?" in local or len(text.encode("utf-8", "replace")) > MAX_OCTETS:
        return None
    domain = domain.translate(_LOWER)
    if not domain.isascii():
        if set(domain) & _OTHER_DOTS:
            return None
        try:
            # Strict IDNA 2008, without the UTS 46 mapping, which would turn look-alikes into other domains.
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
    mailbox = name.partition("+")[0].replace(".", "") or name
    return Email(address, f"{name}@{domain}", f"{mailbox}@{domain}")
