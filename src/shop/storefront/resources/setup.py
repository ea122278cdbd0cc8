"""Store, country and state resources."""

from typing import Any

from shop.base.texts import slug_of
from shop.jsonapi.resource import RenderContext, computed, many, one, resource
from shop.models.setup.countries import Country, State
from shop.models.setup.shop import Store
from shop.storefront.resources.viewer import Viewer


def _is_default(country: Country, render_context: RenderContext) -> bool:
    viewer: Viewer = render_context.props
    return country.iso == viewer.default_country


def _nothing(name: str) -> Any:
    """Returns a Spree attribute that this shop does not support; always null."""
    return computed(name, lambda _shop, _context: None, str | None)


def shop_code(name: str) -> str:
    return slug_of(name) or "shop"


_COUNTRY = (
    "iso",
    "iso3",
    "iso_name",
    "name",
    "states_required",
    "zipcode_required",
    computed("default", _is_default, bool),
)
COUNTRY = resource("country", Country, attributes=_COUNTRY)
COUNTRY_WITH_STATES = resource(
    "country",
    Country,
    attributes=_COUNTRY,
    relations=[many("states", "state"), many("checkout_zone_applicable_states", "state")],
)
"""The country as a single resource, with its states."""
STATE = resource("state", State, attributes=["abbr", "name"])
STORE = resource(
    "store",
    Store,
    attributes=[
        "name",
        computed("url", lambda _shop, render_context: render_context.props.image_options.origin),
        computed("code", lambda shop, _context: shop_code(shop.name)),
        *map(_nothing, ("meta_description", "meta_keywords", "seo_title", "description")),
        computed("default_currency", lambda shop, _context: shop.currencies[0]),
        computed("supported_currencies", lambda shop, _context: ",".join(shop.currencies)),
        computed("default", lambda _shop, _context: True, bool),
        "default_locale",
        computed("supported_locales", lambda shop, _context: shop.default_locale),
        *map(_nothing, ("facebook", "twitter", "instagram", "address", "contact_phone")),
        "customer_support_email",
        *map(_nothing, ("logo", "mailer_logo", "favicon_path")),
        "default_country_id",
    ],
    relations=[one("default_country", "country")],
)
