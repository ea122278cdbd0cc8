"""Types of input fields: how a field is described in the API reference, and how it is read."""

import types
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin
from uuid import UUID

from msgspec import Meta

from shop.base.email import MAX_OCTETS
from shop.base.values import MAX_LINE_LENGTH, read_email_address, read_line, read_lookup_id

Line = Annotated[str, Meta(max_length=MAX_LINE_LENGTH, extra={"read": read_line})]
"""One line of text."""
EmailAddress = Annotated[
    str,
    Meta(
        description="One e-mail address.",
        examples=["grace@example.org"],
        max_length=MAX_OCTETS,
        extra={"read": read_email_address},
    ),
]
LookupId = Annotated[UUID, Meta(extra={"read": read_lookup_id})]
"""The id of a record to look up. A malformed id is not an input error: no record has it."""
MAX_UNITS = 1_000_000
Quantity = Annotated[int, Meta(ge=1, le=MAX_UNITS, examples=[2], extra={"code": "quantity_not_positive"})]
if TYPE_CHECKING:
    Amount = Decimal
else:
    # Described as text or a number, and always read as a decimal.
    Amount = Decimal | float
Metadata = Annotated[
    dict[str, Any], Meta(description="Any object for use by clients, replaced as a whole; at most 16 KiB as JSON.")
]


def split_kind(hint: Any) -> tuple[Any, bool]:
    """Splits `str | None` into `(str, True)`; `dict[str, Any]` into `(dict[str, Any], False)`."""
    if get_origin(hint) not in {Union, types.UnionType}:
        return hint, False
    parts = get_args(hint)
    return next(part for part in parts if part is not type(None)), type(None) in parts
