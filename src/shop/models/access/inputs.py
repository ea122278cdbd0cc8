"""Input of the sign-in of customers."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shop.base.input_types import EmailAddress, Line
from shop.base.texts import normalize_base32

LONG_CODE_LENGTH = 26


def normalize_login_code(text: str) -> str | None:
    """Normalizes a typed login code: digits, or a long code in any case and grouping; None if it is not a code."""
    plain = text.replace(" ", "").replace("-", "")
    if not plain.isascii() or not plain:
        return None
    if plain.isdigit() and len(plain) != LONG_CODE_LENGTH:
        return plain
    return normalize_base32(plain, LONG_CODE_LENGTH)


def _read_code(value: object) -> str:
    code = normalize_login_code(value) if isinstance(value, str) else None
    if code is None:
        raise ValueError("must be the code from the e-mail")
    return code


class LoginCodeUser(msgspec.Struct, frozen=True):
    """Without `code` and `refresh_token`, a login code is sent by e-mail."""

    email: EmailAddress
    first_name: Annotated[Line | None, Meta(description="For a new user.", examples=["Grace"])] = None
    last_name: Annotated[Line | None, Meta(description="For a new user.", examples=["Hopper"])] = None


class LoginUser(msgspec.Struct, frozen=True):
    """The login code from the e-mail, exchanged for tokens."""

    email: EmailAddress
    code: Annotated[
        str,
        Meta(
            description="The six digits from the e-mail, or its 26 characters in any case and grouping.",
            examples=["123456"],
            extra={"read": _read_code},
        ),
    ]


class TokenRefreshUser(msgspec.Struct, frozen=True):
    """A refresh token, exchanged for a new token pair."""

    email: EmailAddress
    refresh_token: Annotated[
        str,
        Meta(
            description="The newest refresh token of the session; the response replaces it.",
            examples=["shprt_TheRefreshToken"],
            min_length=1,
        ),
    ]


class LoginCodeInput(msgspec.Struct, frozen=True):
    """Requests a login code by e-mail; the response is the same whether or not the address is known."""

    user: LoginCodeUser


class LoginInput(msgspec.Struct, frozen=True):
    """Exchanges the login code from the e-mail for tokens."""

    user: LoginUser


class TokenRefreshInput(msgspec.Struct, frozen=True):
    """Exchanges a refresh token for a new token pair."""

    user: TokenRefreshUser


SignIn = LoginCodeInput | LoginInput | TokenRefreshInput
