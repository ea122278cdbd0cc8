"""What requests and answers of the token endpoints and of records hold, as the reference tells it."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.platform.collection import Collection

_ClientId = Annotated[str, Meta(description="The application's client id.", examples=["shpci_TheClientId"])]
_Secret = Annotated[str, Meta(description="Its secret; or both by HTTP Basic.", examples=["shpcs_TheClientSecret"])]


class Revocation(msgspec.Struct):
    """The token to end (RFC 7009); whatever it is, the answer is the same."""

    token: Annotated[
        str,
        Meta(
            description="An access or a refresh token; its whole session ends. Read from the body only.",
            examples=["shpat_TheAccessToken"],
        ),
    ]


class ClientCredentials(msgspec.Struct):
    """By the application's own secret."""

    grant_type: Literal["client_credentials"]
    scope: Annotated[str, Meta(description="Some of admin, read, write.", examples=["admin read"])]
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class PlatformRefresh(msgspec.Struct):
    """By the newest refresh token, for the same scope or less."""

    grant_type: Literal["refresh_token"]
    refresh_token: Annotated[str, Meta(examples=["shppr_TheRefreshToken"])]
    scope: str | UnsetType = UNSET
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


TokenRequest = ClientCredentials | PlatformRefresh


class Introspection(msgspec.Struct):
    """The token in question; only the application's own are told about."""

    token: Annotated[str, Meta(examples=["shppt_TheAccessToken"])]
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class TokenState(msgspec.Struct):
    """What a token still allows; nothing but `active` for any that is not live or another's."""

    active: bool
    scope: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    token_type: str | UnsetType = UNSET
    iat: int | UnsetType = UNSET
    exp: int | UnsetType = UNSET


class ServerMetadata(msgspec.Struct):
    """What works here, and nothing else."""

    issuer: str
    token_endpoint: str
    token_endpoint_auth_methods_supported: list[str]
    grant_types_supported: list[str]
    response_types_supported: list[str]
    scopes_supported: list[str]
    revocation_endpoint: str
    revocation_endpoint_auth_methods_supported: list[str]
    introspection_endpoint: str
    introspection_endpoint_auth_methods_supported: list[str]
    service_documentation: str


def body_of(collection: Collection, *, is_new: bool) -> Any:
    """The struct of a record's body: what may be set, wrapped in its name."""
    name = collection.resource.type
    title = "".join(part.capitalize() for part in name.split("_"))
    required = collection.required if is_new else ()
    fields = [
        (field, kind) if field in required else (field, kind | UnsetType, UNSET)
        for field, kind in collection.writable.items()
        if is_new or field not in collection.once
    ]
    fields.sort(key=len)
    verb = "New" if is_new else "Changed"
    inner = msgspec.defstruct(f"{verb}{title}Fields", fields)
    return msgspec.defstruct(f"{verb}{title}", [(name, inner)])
