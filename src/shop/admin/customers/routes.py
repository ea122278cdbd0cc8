"""Dashboard routes of customers."""

from shop.admin.customers import addresses, customer_form, customers, erasure, export, merge
from shop.admin.customers.customer_form import MAX_GROUPS, PATH
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_ONE = f"{PATH}/{{user_id}}"
_ADDRESS = f"{_ONE}/addresses/{{address_id}}"
_TICKS = 2 * MAX_GROUPS + 10
"""The ticks of all groups, and those that there were before."""


def customer_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(PATH, customers.listing, "Customers"),
        page(f"{PATH}/new", customer_form.new, "New customer", permission="customers:write"),
        act(f"{PATH}/new", customer_form.create, "Create a customer"),
        page(_ONE, customers.show, "One customer"),
        page(f"{_ONE}/orders", customers.list_orders, "All orders of a customer"),
        page(f"{_ONE}/export", export.export, "The personal data of a customer as a file"),
        page(f"{_ONE}/edit", customer_form.show, "Edit a customer", permission="customers:write"),
        act(f"{_ONE}/edit", customer_form.change, "Change a customer"),
        act(f"{_ONE}/groups", customer_form.set_groups, "Change the groups of a customer", most_params=_TICKS),
        act(
            f"{_ONE}/price-lists",
            customer_form.set_price_lists,
            "Change the price lists of a customer",
            most_params=_TICKS,
        ),
        *_irreversible_routes(builder),
        page(f"{_ONE}/addresses/new", addresses.new, "New address of a customer"),
        act(f"{_ONE}/addresses/new", addresses.create, "Add an address of a customer"),
        page(_ADDRESS, addresses.show, "One address of a customer"),
        act(_ADDRESS, addresses.change, "Change an address of a customer"),
        act(f"{_ADDRESS}/default", addresses.make_default, "Make an address the default"),
        act(f"{_ADDRESS}/delete", addresses.delete, "Delete an address of a customer"),
        act(f"{_ONE}/sessions/{{session_id}}/end", customers.end_session, "End a customer's session"),
        act(f"{_ONE}/sessions/end", customers.end_all, "End all of a customer's sessions"),
        act(f"{_ONE}/disable", customers.disable, "Block a customer"),
        act(f"{_ONE}/enable", customers.enable, "Unblock a customer"),
    )


def _irreversible_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    """Routes that need a recent password."""
    merge_path, erase_path = f"{_ONE}/merge", f"{_ONE}/erase"
    may_erase = "customers:erase"
    return (
        builder.page(merge_path, merge.show, "Merge a duplicate account?", fresh=True, permission=may_erase),
        builder.act(merge_path, merge.merge, "Merge a duplicate account", back=merge_path, permission=may_erase),
        builder.page(
            erase_path, erasure.show, "Erase the personal data of a customer?", fresh=True, permission=may_erase
        ),
        builder.act(
            erase_path,
            erasure.erase,
            "Erase the personal data of a customer",
            back=erase_path,
            permission=may_erase,
        ),
    )
