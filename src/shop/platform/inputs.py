"""Request and response structs of the token endpoints, imports and records, as documented in the API reference."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shop.base.input_types import Amount
from shop.jsonapi.schema import parts_of
from shop.models.catalog.products import Product, Variant
from shop.platform.collection import Collection, kinds
from shop.rules.imports.exports import PRODUCT_FIELDS, VARIANT_FIELDS

_ClientId = Annotated[str, Meta(description="The application's client id.", examples=["shpci_TheClientId"])]
_Secret = Annotated[
    str, Meta(description="The client secret. HTTP Basic is accepted for both.", examples=["shpcs_TheClientSecret"])
]


class TokenRevocation(msgspec.Struct):
    """The token to revoke (RFC 7009). Applications must authenticate to revoke their tokens; shoppers need not."""

    token: Annotated[
        str,
        Meta(
            description="An access or refresh token; its whole session ends. Read only from the body.",
            examples=["shpat_TheAccessToken"],
        ),
    ]
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class ClientCredentialsGrant(msgspec.Struct):
    """Grants a token for the application's secret."""

    grant_type: Literal["client_credentials"]
    scope: Annotated[str, Meta(description="One or more of admin, read and write.", examples=["admin read"])]
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class RefreshTokenGrant(msgspec.Struct):
    """Grants a token for the newest refresh token, with the same scope or less."""

    grant_type: Literal["refresh_token"]
    refresh_token: Annotated[str, Meta(examples=["shppr_TheRefreshToken"])]
    scope: str | UnsetType = UNSET
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class ShopperRefresh(msgspec.Struct):
    """Refreshes a shopper's session without a client, as Spree clients do."""

    grant_type: Literal["refresh_token"]
    refresh_token: Annotated[str, Meta(examples=["shprt_TheRefreshToken"])]


TokenRequest = ClientCredentialsGrant | RefreshTokenGrant | ShopperRefresh


class TokenIntrospection(msgspec.Struct):
    """The token to inspect; only the application's own tokens are described."""

    token: Annotated[str, Meta(examples=["shppt_TheAccessToken"])]
    client_id: _ClientId | UnsetType = UNSET
    client_secret: _Secret | UnsetType = UNSET


class TokenState(msgspec.Struct):
    """The state of a token; only `active` if it is not valid or belongs to another application."""

    active: bool
    scope: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    token_type: str | UnsetType = UNSET
    iat: int | UnsetType = UNSET
    exp: int | UnsetType = UNSET


class AuthorizationServer(msgspec.Struct):
    """The capabilities of the authorization server (RFC 8414)."""

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
    compare_at: Annotated[Amount | None, Meta(description="The previous price.")] | UnsetType = UNSET


class ImportedStock(msgspec.Struct):
    """Stock at one stock location."""

    count_on_hand: Annotated[int, Meta(examples=[5])] | UnsetType = UNSET
    backorderable: bool | UnsetType = UNSET


_Options = Annotated[dict[str, str], Meta(description="The value of every option type, by name.")]
_Prices = Annotated[
    dict[str, ImportedAmount | Amount | None], Meta(description="By currency; prices in other currencies are removed.")
]
_Stock = Annotated[
    dict[str, ImportedStock | int], Meta(description="By stock location name; other locations stay unchanged.")
]
_Names = Annotated[list[str], Meta(description="By name, in this order; new ones are created.")]
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
        ("sku", Annotated[str, Meta(description="Identifies the variant within the product.", examples=["MUG-RED"])]),
        *_optional(Variant, VARIANT_FIELDS),
        *_OTHERS,
        (
            "id",
            Annotated[UUID, Meta(description="Identifies a variant without SKU, as exported.")] | UnsetType,
            UNSET,
        ),
    ],
)
ImportedProduct = msgspec.defstruct(
    "ImportedProduct",
    [
        ("slug", Annotated[str, Meta(description="Identifies the product.", examples=["mug"])]),
        ("name", Annotated[str, Meta(description="Required for a new product.", examples=["Mug"])] | UnsetType, UNSET),
        *_optional(Product, PRODUCT_FIELDS[1:]),
        ("tax_category", _TaxCategory | UnsetType, UNSET),
        (
            "taxons",
            Annotated[list[str], Meta(description="By permalink; they must exist.")] | UnsetType,
            UNSET,
        ),
        ("option_types", _Names | UnsetType, UNSET),
        (
            "properties",
            Annotated[dict[str, str], Meta(description="All values by name; new properties are created.")] | UnsetType,
            UNSET,
        ),
        ("master", _Master | UnsetType, UNSET),
        (
            "variants",
            Annotated[list[_OneOf], Meta(description="Other variants stay; see `variants_complete`.")] | UnsetType,
            UNSET,
        ),
        (
            "variants_complete",
            Annotated[bool, Meta(description="Whether variants that are not listed are removed.")] | UnsetType,
            UNSET,
        ),
    ],
)
"""A line of a product import or export. An import leaves absent members unchanged."""


class ImportedPrice(msgspec.Struct):
    """A line of a price import or export: a base price, or an entry of a price list."""

    sku: Annotated[str, Meta(description="The SKU of the variant.", examples=["MUG-RED"])] | UnsetType = UNSET
    variant_id: Annotated[UUID, Meta(description="For a variant without SKU.")] | UnsetType = UNSET
    currency: Annotated[str, Meta(description="Optional with a price list.", examples=["USD"])] | UnsetType = UNSET
    amount: Annotated[Amount | None, Meta(description="Null removes the price.", examples=["19.99"])] | UnsetType = (
        UNSET
    )
    compare_at: Annotated[Amount | None, Meta(description="The previous price.")] | UnsetType = UNSET
    price_list: Annotated[str, Meta(description="The name of a price list, for an entry.")] | UnsetType = UNSET
    min_quantity: Annotated[int, Meta(ge=1, description="With a price list: the lowest quantity.")] | UnsetType = UNSET


def build_body_struct(collection: Collection, *, is_new: bool) -> Any:
    """Returns the struct of a record's body: its writable members, wrapped in the resource name."""
    name = collection.resource.type
    title = "".join(part.capitalize() for part in name.split("_"))
    required_names = collection.required if is_new else ()
    writable = {
        field: kind | float if Decimal in parts_of(kind) else kind for field, kind in collection.writable.items()
    }
    fields = [
        (field, kind) if field in required_names else (field, kind | UnsetType, UNSET)
        for field, kind in writable.items()
        if is_new or field not in collection.create_only
    ]
    fields += [(alias, writable[field] | UnsetType, UNSET) for alias, field in collection.aliases.items()]
    fields.sort(key=len)
    actions = title if is_new else f"{title}Update"
    inner = msgspec.defstruct(f"{actions}Fields", fields)
    return msgspec.defstruct(f"{actions}Input", [(name, inner)])
