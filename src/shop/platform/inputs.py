"""What the bodies of the platform hold."""

from typing import Annotated

import msgspec
from msgspec import Meta


class Revocation(msgspec.Struct):
    """The token to end (RFC 7009); whatever it is, the answer is the same."""

    token: Annotated[
        str,
        Meta(
            description="An access or a refresh token; its whole session ends. Read from the body only.",
            examples=["shpat_TheAccessToken"],
        ),
    ]
