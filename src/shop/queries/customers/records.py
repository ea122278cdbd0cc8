"""Addresses and wishlists as the Platform API and the event log read them."""

from shop.models.customers.addresses import Address, addresses
from shop.models.customers.wishlists import Wishlist, wishlists
from shop.queries.customers.users import FULL_NAME
from shop.queries.records import Records

ADDRESSES = Records(
    table=addresses, row=Address, searches={"full_name": FULL_NAME}, shown=addresses.c.deleted_at.is_(None)
)
WISHLISTS = Records(table=wishlists, row=Wishlist)
