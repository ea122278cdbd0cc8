"""Dashboard routes of customers."""

from shop.admin.customers import addresses, customer_form, customers, erasure
from shop.admin.customers.customer_form import PATH
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_ONE = f"{PATH}/{{user_id}}"
_ADDRESS = f"{_ONE}/addresses/{{address_id}}"


def customer_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(PATH, customers.listing, "Customers"),
        page(f"{PATH}/new", customer_form.new, "New customer", permission="customers:write"),
        act(f"{PATH}/new", customer_form.create, "Create a customer"),
        page(_ONE, customers.show, "One customer"),
        page(f"{_ONE}/orders", customers.list_orders, "All orders of a customer"),
        page(f"{_ONE}/edit", customer_form.show, "Edit a customer", permission="customers:write"),
        act(f"{_ONE}/edit", customer_form.change, "Change a customer"),
        act(f"{_ONE}/groups", customer_form.set_groups, "Change the groups of a customer"),
        act(f"{_ONE}/price-lists", customer_form.set_price_lists, "Change the price lists of a customer"),
        page(
            f"{_ONE}/erase",
            erasure.show,
            "Erase the personal data of a customer?",
            fresh=True,
            permission="customers:erase",
        ),
        act(
            f"{_ONE}/erase",
            erasure.erase,
            "Erase the personal data of a customer",
            back=f"{_ONE}/erase",
            permission="customers:erase",
        ),
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
