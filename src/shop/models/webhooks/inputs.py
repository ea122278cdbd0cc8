"""Input of webhook endpoints and of the operations on them."""

from datetime import datetime
from typing import Annotated, TypedDict

import msgspec
from msgspec import UNSET, Meta, UnsetType

MAX_OVERLAP_HOURS = 7 * 24


class WebhookEndpointInput(TypedDict, total=False):
    """An address that receives events."""

    url: str
    description: str
    types: Annotated[
        list[str],
        Meta(description="Types of events, like `order.completed`, `order.*` or `*`.", examples=[["order.*"]]),
    ]
    fields: Annotated[
        list[str],
        Meta(description="If there are any, only updates that change one of these attributes.", examples=[["state"]]),
    ]
    enabled: bool


class SubscriberInput(TypedDict, total=False):
    """An endpoint under its names in Spree."""

    url: str
    active: bool
    subscriptions: Annotated[
        list[str],
        Meta(description="Types of events, like `order.completed`, `order.*` or `*`.", examples=[["order.*"]]),
    ]


class SecretRotationInput(msgspec.Struct, frozen=True):
    """How long the old secret remains valid; meanwhile, each request has two signatures."""

    overlap_hours: (
        Annotated[int, Meta(ge=0, le=MAX_OVERLAP_HOURS, description="24 by default.", examples=[24])] | UnsetType | None
    ) = UNSET


class WebhookReplayInput(msgspec.Struct, frozen=True):
    """A range of positions or of time; both ends are included. The end of the log if it has no end."""

    from_position: Annotated[int, Meta(ge=1, examples=[4711])] | UnsetType | None = UNSET
    to_position: Annotated[int, Meta(ge=1)] | UnsetType | None = UNSET
    since: datetime | UnsetType | None = UNSET
    until: datetime | UnsetType | None = UNSET
