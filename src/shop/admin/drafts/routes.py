"""Dashboard routes of drafts."""

from shop.admin.drafts import changes, drafts, quotes
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_DRAFT = f"{drafts.PATH}/{{number}}"


def draft_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page(drafts.PATH, drafts.listing, "Drafts"),
        act(drafts.PATH, drafts.create, "Create a draft"),
        page(_DRAFT, drafts.show, "One draft"),
        act(f"{_DRAFT}/customer", changes.choose_customer, "Choose the customer of a draft"),
        act(f"{_DRAFT}/email", changes.enter_customer, "Enter the customer of a draft"),
        act(f"{_DRAFT}/address-book", changes.use_address, "Use an address of the customer"),
        act(f"{_DRAFT}/address", changes.enter_address, "Enter an address of a draft"),
        act(f"{_DRAFT}/items", changes.add_item, "Add an item to a draft"),
        act(f"{_DRAFT}/quantity", changes.set_quantity, "Change a quantity of a draft"),
        act(f"{_DRAFT}/remove", changes.remove_item, "Remove an item of a draft"),
        act(f"{_DRAFT}/discount", changes.set_discount, "Give a discount"),
        act(f"{_DRAFT}/discount/remove", changes.remove_discount, "Remove a discount"),
        act(f"{_DRAFT}/coupon", changes.enter_coupon, "Apply a coupon code to a draft"),
        act(f"{_DRAFT}/coupon/remove", changes.remove_coupons, "Remove the coupon codes of a draft"),
        act(f"{_DRAFT}/shipping", changes.choose_rates, "Choose the shipping of a draft"),
        act(f"{_DRAFT}/pickup", changes.choose_pickup, "Let the customer pick up the goods of a draft"),
        act(f"{_DRAFT}/place", changes.place, "Place a draft as an order"),
        page(f"{_DRAFT}/delete", drafts.show_delete, "Delete a draft?"),
        act(f"{_DRAFT}/delete", drafts.delete, "Delete a draft"),
        page(f"{_DRAFT}/quote", quotes.show_quote, "A draft as a quote"),
        act(f"{_DRAFT}/quote", quotes.send_quote, "Mail the quote of a draft"),
        page(f"{_DRAFT}/quote.pdf", quotes.show_quote_pdf, "A draft as a quote, as PDF"),
    )
