"""The shop's Stripe account and the format of its keys."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

STRIPE = "https://api.stripe.com"
_BASE = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.ASCII)
_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})


class StripeAccount(msgspec.Struct, frozen=True, kw_only=True):
    """The account's credentials. Only the publishable key is public."""

    secret_key: str
    webhook_secret: str
    publishable_key: str | None
    api_base: str

    def __repr__(self) -> str:
        return f"Stripe at {self.api_base}, in {'test' if self.is_test else 'live'} mode"

    __str__ = __repr__

    @property
    def is_test(self) -> bool:
        return "_test_" in self.secret_key


def _key(pattern: str, sentence: str) -> Callable[[str], str]:
    """Returns a parser of one kind of key. Its ValueError describes the format and never repeats the input."""
    regex = re.compile(pattern, re.ASCII)

    def read(text: str) -> str:
        if not regex.fullmatch(text.strip()):
            raise ValueError(sentence)
        return text.strip()

    return read


read_secret_key = _key(r"(?:sk|rk)_[0-9A-Za-z_]{8,255}", "give a secret key of Stripe, which begins with sk_ or rk_")
read_webhook_secret = _key(
    r"whsec_[0-9A-Za-z_+/=-]{8,255}", "give the signing secret of a webhook at Stripe, which begins with whsec_"
)
# Public: rejects a secret key that was set here by mistake.
read_publishable_key = _key(r"pk_[0-9A-Za-z_]{8,255}", "give a publishable key of Stripe, which begins with pk_")


def read_api_base(text: str) -> str:
    """Parses the base URL. Allows http for this machine only, because every request carries the secret key."""
    sentence = "give https://host or https://host:port in lowercase, without a path"
    base = text.rstrip("/")
    try:
        parts = urlsplit(base)
        fits = (
            _BASE.fullmatch(base) and parts.port != 0 and (parts.scheme == "https" or parts.hostname in _LOOPBACK_HOSTS)
        )
    except ValueError:
        raise ValueError(sentence) from None
    if not fits:
        raise ValueError(sentence)
    return base
