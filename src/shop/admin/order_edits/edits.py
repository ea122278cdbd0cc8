"""The page that edits a placed order: form, preview and save."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from shop.actions.context import Context
from shop.actions.order_edits import edits
from shop.actions.order_edits import pages as edit_pages
from shop.actions.order_edits.edits import EditConflict, EditPreview
from shop.actions.order_edits.pages import EditableOrder, list_changes_since
from shop.actions.orders.pages import get_order
from shop.admin.fields import Fields
from shop.admin.order_edits.quantities import list_submitted, read_quantities
from shop.admin.orders.orders import address_of
from shop.admin.pages import PageContext, page, redirect
from shop.base.email import read_email
from shop.base.errors import Conflict, Invalid
from shop.base.ids import as_uuid
from shop.base.values import read_time
from shop.models.cart.orders import Order
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.inputs import AddressInput
from shop.models.order_edits.edits import OrderEdit
from shop.queries.customers import users
from shop.web.input.request import Request
from shop.web.reply import Reply

ADDRESS_LABELS = {
    "firstname": "First name",
    "lastname": "Last name",
    "company": "Company",
    "address1": "Street and number",
    "address2": "Apartment or floor",
    "zipcode": "Postal code",
    "city": "City",
    "state_name": "State or region",
    "country_iso": "Country",
    "phone": "Phone",
}
_SIDES = {"ship": "Shipping", "bill": "Billing"}
LABELS = {
    "base": "The order",
    "email": "E-mail address",
    "quantity": "Quantity",
    **{
        f"{side}_{name}": f"{title}: {label[:1].lower()}{label[1:]}"
        for side, title in _SIDES.items()
        for name, label in ADDRESS_LABELS.items()
    },
}


async def show(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order = await get_order(ctx, request.path_params["number"])
    if refusal := edits.find_edit_refusal(order):
        raise Conflict(refusal)
    editable = await edit_pages.load_editable(ctx, order)
    return await _form_page(ctx, page_context, editable, _current_values(editable))


async def change(request: Request, ctx: Context, page_context: PageContext) -> Reply:
    order, fields = await get_order(ctx, request.path_params["number"]), Fields(request)
    editable = await edit_pages.load_editable(ctx, order)
    values = {**_current_values(editable), **_submitted_values(fields)}
    seen_at = _read_seen(fields)
    intent = fields.texts.get("do", "preview")
    if intent == "search":
        return await _form_page(ctx, page_context, editable, values)
    try:
        edit = _read_edit(fields, editable)
        fields.check()
        if intent == "save":
            await edits.save_edit(ctx, order.id, edit, fields.texts.get("previewed", ""))
            return redirect(f"{address_of(order)}?done=edited")
        preview = await edits.preview_edit(ctx, order.id, edit)
    except EditConflict as conflict:
        changes = await list_changes_since(ctx, order, seen_at)
        more: dict[str, Any] = {"conflict": conflict.sentence, "changes": changes, "preview": conflict.preview}
        return await _form_page(ctx, page_context, editable, values, 409, **more)
    except (Invalid, Conflict) as error:
        errors = error.errors if isinstance(error, Invalid) else {"base": [error.sentence]}
        return await _form_page(ctx, page_context, editable, values, error.status, errors=errors)
    return await _form_page(
        ctx, page_context, editable, values, preview=preview, changes=await list_changes_since(ctx, order, seen_at)
    )


def _read_seen(fields: Fields) -> datetime | None:
    """Returns when the order had last changed as the form was opened."""
    try:
        return read_time(fields.texts.get("seen_at", ""))
    except ValueError:
        return None


def _read_edit(fields: Fields, editable: EditableOrder) -> OrderEdit:
    email = fields.line("email")
    if email and read_email(email) is None:
        fields.refuse("email", "is not an e-mail address")
    # The place of a pickup stays.
    is_pickup = editable.checkout.order.pickup_location_id is not None
    return OrderEdit(
        email or editable.checkout.order.email,
        None if is_pickup else _read_address(fields, "ship", editable.ship_address),
        _read_address(fields, "bill", editable.bill_address),
        not is_pickup and fields.flag("is_same_address"),
        read_quantities(fields, "quantity", is_required=True),
        {variant_id: count for variant_id, count in read_quantities(fields, "add").items() if count},
    )


def _read_address(fields: Fields, side: str, present: AddressWithCountry | None) -> AddressInput | None:
    """Returns the address that was entered, or None if it is the present one."""
    texts = {name: fields.texts.get(f"{side}_{name}", "").strip() for name in ADDRESS_LABELS}
    before = _address_texts(present)
    if texts == before or (present is None and not any(texts.values())):
        return None
    values: dict[str, Any] = {name: text or None for name, text in texts.items()}
    return AddressInput(**values)


def _address_texts(address: AddressWithCountry | None) -> dict[str, str]:
    texts = {name: getattr(address, name, None) or "" for name in ADDRESS_LABELS}
    if address and address.state_code and not address.state_name:
        texts["state_name"] = address.state_code
    return texts


def _current_values(editable: EditableOrder) -> dict[str, str]:
    order = editable.checkout.order
    values = {"email": order.email or "", "q": "", "seen_at": editable.changed_at.isoformat()}
    for side, address in (("ship", editable.ship_address), ("bill", editable.bill_address)):
        values |= {f"{side}_{name}": text for name, text in _address_texts(address).items()}
    values["is_same_address"] = "1" if order.ship_address_id == order.bill_address_id else ""
    return values | {f"quantity[{line.id}]": str(line.quantity) for line in editable.checkout.lines}


def _submitted_values(fields: Fields) -> dict[str, str]:
    """Returns the submitted fields by name, to show them again."""
    names = ("email", "q", "seen_at", *(f"{side}_{name}" for side in _SIDES for name in ADDRESS_LABELS))
    values = {name: fields.texts[name] for name in names if name in fields.texts}
    values["is_same_address"] = fields.texts.get("is_same_address", "")
    return values | list_submitted(fields, "quantity", "add")


async def _form_page(
    ctx: Context,
    page_context: PageContext,
    editable: EditableOrder,
    values: dict[str, str],
    status: int = 200,
    *,
    preview: EditPreview | None = None,
    errors: Mapping[str, Sequence[str]] | None = None,
    **more: Any,
) -> Reply:
    order: Order = editable.checkout.order
    added_texts = [
        (as_uuid(name[4:-1]), text) for name, text in values.items() if name.startswith("add[") and text.strip()
    ]
    added_ids = [variant_id for variant_id, text in added_texts if variant_id and text != "0"]
    results = await edit_pages.find_variants(ctx, order, values["q"]) if values["q"].strip() else []
    if preview:
        values = {**values, "seen_at": editable.changed_at.isoformat()}
    return page(
        "order_edits/edit.html",
        page_context,
        status,
        order=order,
        here=address_of(order),
        editable=editable,
        values=values,
        preview=preview,
        submitted=[(name, text) for name, text in values.items() if name != "q"],
        additions=await edit_pages.list_variants(ctx, order, added_ids),
        results=[each for each in results if each.variant_id not in added_ids],
        countries=[("", ""), *await users.list_country_names(ctx.db)],
        address_labels=ADDRESS_LABELS,
        labels=LABELS,
        errors={name if name in LABELS else "base": sentences for name, sentences in (errors or {}).items()},
        **{"conflict": None, "changes": [], **more},
        has_search=bool(values["q"].strip()),
    )
