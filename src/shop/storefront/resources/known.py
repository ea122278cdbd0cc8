"""Every storefront wire type by its name."""

from shop.jsonapi.query import Resources
from shop.storefront.resources.people import ADDRESS, SESSION, USER
from shop.storefront.resources.sales import CART, ORDER

RESOURCES: Resources = {resource.type: resource for resource in (CART, ORDER, USER, ADDRESS, SESSION)}
