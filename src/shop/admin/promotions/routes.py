"""Dashboard routes of promotions, coupon batches and store credit."""

from shop.admin.customers import store_credit
from shop.admin.customers.customer_form import PATH as CUSTOMERS
from shop.admin.promotions import coupon_batches, preview, promotions
from shop.admin.promotions import parts as promotion_parts
from shop.admin.promotions.parts import PartForm
from shop.admin.route_builder import RouteBuilder
from shop.web.endpoint import Route

_PROMOTION = "/admin/promotions/{promotion_id}"
_BATCH = _PROMOTION + "/batches/{batch_id}"
_CREDIT = CUSTOMERS + "/{user_id}/credit"
# Enough for all ids that a condition may have, plus the other fields of the form.
_MANY = 600


def promotion_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act = builder.page, builder.act
    return (
        page("/admin/promotions", promotions.listing, "Promotions"),
        page("/admin/promotions/new", promotions.new, "New promotion"),
        act("/admin/promotions/new", promotions.create, "Create a promotion"),
        page(_PROMOTION, promotions.show, "One promotion"),
        act(_PROMOTION, promotions.change, "Change a promotion"),
        page(f"{_PROMOTION}/delete", promotions.show_delete, "Delete a promotion?"),
        act(f"{_PROMOTION}/delete", promotions.delete, "Delete a promotion"),
        page(f"{_PROMOTION}/parts", promotion_parts.show, "A promotion's conditions and benefits"),
        *_part_routes(builder, promotion_parts.CONDITION_FORM),
        *_part_routes(builder, promotion_parts.BENEFIT_FORM),
        page(f"{_PROMOTION}/try", preview.show, "Preview a promotion on a cart"),
        page(f"{_PROMOTION}/batches", coupon_batches.show, "A promotion's batches of codes"),
        act(f"{_PROMOTION}/batches", coupon_batches.create, "Create a batch of codes"),
        page(f"{_BATCH}/codes", coupon_batches.download, "Download the codes of a batch"),
        page(f"{_BATCH}/delete", coupon_batches.show_delete, "Delete a batch of codes?"),
        act(f"{_BATCH}/delete", coupon_batches.delete, "Delete a batch of codes"),
        *_credit_routes(builder.of("customers")),
    )


def _credit_routes(builder: RouteBuilder) -> tuple[Route, ...]:
    page, act, may = builder.page, builder.act, "credit:write"
    grant, withdraw = f"{_CREDIT}/grant", f"{_CREDIT}/{{credit_id}}/withdraw"
    return (
        page(_CREDIT, store_credit.show, "A customer's store credit"),
        page(grant, store_credit.new, "Grant store credit", fresh=True, permission=may),
        act(grant, store_credit.create, "Grant store credit", back=grant, permission=may),
        page(withdraw, store_credit.show_withdraw, "Withdraw store credit?", fresh=True, permission=may),
        act(withdraw, store_credit.withdraw, "Withdraw store credit", back=withdraw, permission=may),
    )


def _part_routes(builder: RouteBuilder, form: PartForm) -> tuple[Route, ...]:
    one = f"{_PROMOTION}/{form.path}/{{part_id}}"
    return (
        builder.page(f"{_PROMOTION}/{form.path}/new", form.new, f"New {form.what} of a promotion"),
        builder.act(f"{_PROMOTION}/{form.path}/new", form.create, f"Add a {form.what}", most_params=_MANY),
        builder.page(one, form.show, f"One {form.what} of a promotion"),
        builder.act(one, form.change, f"Change a {form.what}", most_params=_MANY),
        builder.act(f"{one}/remove", form.remove, f"Remove a {form.what}"),
    )
