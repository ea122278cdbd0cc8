"""Request and response structs of the token endpoints, imports and records, as documented in the API reference."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.jsonapi.schema import parts_of
from shop.models.catalog.products import Product, Variant
from shop.platform.collection import Collection, kinds
from shop.rules.imports.exports import PRODUCT_FIELDS, VARIANT_FIELDS

Amount = Decimal | float
"""A decimal number as text, or a number."""
_ClientId = Annotated[str, Meta(description="The application's client id.", examples=["shpci_TheClientId"])]
_Secret = Annotated[str, Meta(description="Its secret; or both by HTTP Basic.", examples=["shpcs_TheClientSecret"])]


class TokenRevocation(msgspec.Struct):
    """The token to end (RFC 7009). An application must authenticate to end a token of its own; a shopper need not."""

    token: Annotated[
        str,
        Meta(
            description="An access or a refresh token; its whole session ends. Read from the body only.",
            examples=["shpat_TheAccessToken"],
        ),
    ]
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class ClientCredentialsGrant(msgspec.Struct):
    """By the application's own secret."""

    grant_type: Literal["client_credentials"]
    scope: Annotated[str, Meta(description="Some of admin, read, write.", examples=["admin read"])]
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class RefreshTokenGrant(msgspec.Struct):
    """By the newest refresh token, for the same scope or less."""

    grant_type: Literal["refresh_token"]
    refresh_token: Annotated[str, Meta(examples=["shppr_TheRefreshToken"])]
    scope: str | UnsetType = UNSET
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class ShopperRefresh(msgspec.Struct):
    """A shopper's newest refresh token, without a client: as clients of Spree refresh a session."""

    grant_type: Literal["refresh_token"]
    refresh_token: Annotated[str, Meta(examples=["shprt_TheRefreshToken"])]


TokenRequest = ClientCredentialsGrant | RefreshTokenGrant | ShopperRefresh


class TokenIntrospection(msgspec.Struct):
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


class AuthorizationServer(msgspec.Struct):
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


class ImportedAmount(msgspec.Struct):
    """A price in one currency."""

    amount: Annotated[Amount, Meta(description="A decimal number.", examples=["19.99"])]
    compare_at: Annotated[Amount | None, Meta(description="What it cost before.")] | UnsetType = UNSET


class ImportedStock(msgspec.Struct):
    """How many there are at one location."""

    count_on_hand: Annotated[int, Meta(examples=[5])] | UnsetType = UNSET
    backorderable: bool | UnsetType = UNSET


_Options = Annotated[dict[str, str], Meta(description="The value of each option type, by names; all of them.")]
_Prices = Annotated[
    dict[str, ImportedAmount | Amount | None], Meta(description="By currency; those that are not named are removed.")
]
_Stock = Annotated[dict[str, ImportedStock | int], Meta(description="By the location's name; others stay.")]
_Names = Annotated[list[str], Meta(description="By name, in this order; new ones are made.")]
_TaxCategory = Annotated[str | None, Meta(description="By name.")]
_OTHERS: list[Any] = [
    ("tax_category", _TaxCategory | UnsetType, UNSET),
    ("options", _Options | UnsetType, UNSET),
    ("prices", _Prices | UnsetType, UNSET),
    ("stock", _Stock | UnsetType, UNSET),
]


def _optional(row: Any, names: Sequence[str]) -> list[Any]:
    return [(name, kind | UnsetType, UNSET) for name, kind in kinds(row, *names).items()]


_Master = msgspec.defstruct(
    "ImportedMaster", [("sku", str | UnsetType, UNSET), *_optional(Variant, VARIANT_FIELDS), *_OTHERS]
)
_OneOf: Any = msgspec.defstruct(
    "ImportedVariant",
    [
        ("sku", Annotated[str, Meta(description="What it is known by within the product.", examples=["MUG-RED"])]),
        *_optional(Variant, VARIANT_FIELDS),
        *_OTHERS,
        (
            "id",
            Annotated[UUID, Meta(description="Of a variant that has no sku; given out, and read back.")] | UnsetType,
            UNSET,
        ),
    ],
)
ImportedProduct = msgspec.defstruct(
    "ImportedProduct",
    [
        ("slug", Annotated[str, Meta(description="What a product is known by.", examples=["mug"])]),
        ("name", Annotated[str, Meta(description="Must be given for a new one.", examples=["Mug"])] | UnsetType, UNSET),
        *_optional(Product, PRODUCT_FIELDS[1:]),
        ("tax_category", _TaxCategory | UnsetType, UNSET),
        (
            "taxons",
            Annotated[list[str], Meta(description="By permalink; they must be there.")] | UnsetType,
            UNSET,
        ),
        ("option_types", _Names | UnsetType, UNSET),
        (
            "properties",
            Annotated[dict[str, str], Meta(description="Values by name, all of them; new ones are made.")] | UnsetType,
            UNSET,
        ),
        ("master", _Master | UnsetType, UNSET),
        ("variants", Annotated[list[_OneOf], Meta(description="Others stay.")] | UnsetType, UNSET),
        (
            "variants_complete",
            Annotated[bool, Meta(description="Whether variants that are not named are removed.")] | UnsetType,
            UNSET,
        ),
    ],
)
"""A line of a product import or export. An import leaves absent members unchanged."""


class ImportedPrice(msgspec.Struct):
    """A line of an import of prices: what anybody pays, or an entry of a price list. An export has the same."""

    sku: Annotated[str, Meta(description="Of the variant.", examples=["MUG-RED"])] | UnsetType = UNSET
    variant_id: Annotated[UUID, Meta(description="Of a variant that has no sku.")] | UnsetType = UNSET
    currency: Annotated[str, Meta(description="May be left out with a list.", examples=["USD"])] | UnsetType = UNSET
    amount: Annotated[Amount | None, Meta(description="Null removes the price.", examples=["19.99"])] | UnsetType = (
        UNSET
    )
    compare_at: Annotated[Amount | None, Meta(description="What it cost before.")] | UnsetType = UNSET
    price_list: Annotated[str, Meta(description="The name of a list, for an entry of it.")] | UnsetType = UNSET
    min_quantity: Annotated[int, Meta(ge=1, description="With a list: from which quantity on.")] | UnsetType = UNSET


def build_body_struct(collection: Collection, *, is_new: bool) -> Any:
    """Return the struct of a record's body: its writable members, wrapped in the resource name."""
    name = collection.resource.type
    title = "".join(part.capitalize() for part in name.split("_"))
    required_names = collection.required if is_new else ()
    writable = {
        field: kind | float if Decimal in parts_of(kind) else kind for field, kind in collection.writable.items()
    }
    fields = [
        (field, kind) if field in required_names else (field, kind | UnsetType, UNSET)
        for field, kind in writable.items()
        if is_new or field not in collection.once
    ]
    fields += [(alias, writable[field] | UnsetType, UNSET) for alias, field in collection.aliases.items()]
    fields.sort(key=len)
    noun = title if is_new else f"{title}Update"
    inner = msgspec.defstruct(f"{noun}Fields", fields)
    return msgspec.defstruct(f"{noun}Input", [(name, inner)])
