"""Creates, updates and deletes customers and addresses for applications, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec.structs import replace

from shop.actions.audit import audit
from shop.actions.catalog.reservations import discard_cart
from shop.actions.context import Context
from shop.actions.customers.account import address_fields, check_open
from shop.actions.event_subjects import CUSTOMER
from shop.actions.events import note_locked
from shop.actions.records import ResourceActions
from shop.base.email import read_email
from shop.base.errors import Invalid
from shop.base.ids import new_id
from shop.base.values import NOT_EMAIL, read_line
from shop.models.access.users import User, users
from shop.models.customers.addresses import addresses
from shop.models.customers.inputs import AddressInput
from shop.models.customers.record_inputs import AddressRecordInput, UserInput
from shop.queries import writes
from shop.queries.access import sessions as session_queries
from shop.queries.cart import orders
from shop.queries.customers import users as user_queries
from shop.queries.customers.records import ADDRESSES
from shop.queries.customers.users import CUSTOMERS

_NAMES = ("first_name", "last_name", "selected_locale")
_EXTRAS = ("alternative_phone", "public_metadata", "private_metadata")


async def create_user(ctx: Context, values: UserInput) -> UUID:
    """Creates a verified user: the merchant confirms the address, so housekeeping does not delete the user."""
    user_id = new_id()
    await writes.insert_record(ctx.db, users, user_id, await _validate_user(ctx, None, values))
    await user_queries.verify_user(
        ctx.db, user_id, first_name=values.get("first_name"), last_name=values.get("last_name")
    )
    return user_id


async def update_user(ctx: Context, user_id: UUID, values: UserInput) -> None:
    """Updates a user. A new e-mail address ends every session; its event tells both addresses."""
    before = await user_queries.find_user(ctx.db, user_id)
    if before:
        check_open(before)
    fields = await _validate_user(ctx, user_id, values)
    await writes.update_record(ctx.db, users, user_id, fields)
    if before and before.email_key != fields.get("email_key", before.email_key):
        await session_queries.end_users_sessions(ctx.db, user_id, "the e-mail was changed")
        await audit(ctx, "user_email_changed", "done", subject_id=user_id)


async def delete_user(ctx: Context, user_id: UUID) -> None:
    if await orders.count_completed(ctx.db, user_id):
        raise Invalid({"base": ["has completed orders and cannot be deleted"]})
    for cart in await orders.lock_open_carts(ctx.db, user_id):
        await discard_cart(ctx, cart)
    await writes.delete_record(ctx.db, users, user_id)


async def create_address(ctx: Context, values: AddressRecordInput) -> UUID:
    address_id = new_id()
    fields = {**await address_fields(ctx, _address_input(values), None), **_pick(values, _EXTRAS)}
    if user_id := values.get("user_id"):
        owner: User | None = await user_queries.lock_user(ctx.db, user_id)
        if owner:
            check_open(owner)
        fields["user_id"] = user_id
    await writes.insert_record(ctx.db, addresses, address_id, fields)
    return address_id


async def update_address(ctx: Context, address_id: UUID, values: AddressRecordInput) -> None:
    if await user_queries.is_used(ctx.db, address_id):
        raise Invalid({"base": ["belongs to a completed order and cannot be changed; create a new one"]})
    present = (await user_queries.find_addresses(ctx.db, [address_id]))[address_id]
    # The caller has locked the address, which an erasure changes too: the owner needs no lock.
    owner = await user_queries.find_user(ctx.db, present.user_id) if present.user_id else None
    if owner:
        check_open(owner)
    fields = {**await address_fields(ctx, _address_input(values), present), **_pick(values, _EXTRAS)}
    await writes.update_record(ctx.db, addresses, address_id, fields)


async def delete_address(ctx: Context, address_id: UUID) -> None:
    """Deletes an address, or hides it if an order uses it."""
    present = (await user_queries.find_addresses(ctx.db, [address_id]))[address_id]
    if present.user_id:
        await note_locked(ctx, CUSTOMER, present.user_id)
        await user_queries.replace_default(ctx.db, present.user_id, old_id=address_id, new_id=None)
    if await user_queries.is_used(ctx.db, address_id) is None:
        await user_queries.delete_address(ctx.db, address_id)
    else:
        await user_queries.soft_delete_address(ctx.db, address_id)


async def _validate_user(ctx: Context, user_id: UUID | None, values: UserInput) -> dict[str, object]:
    fields, errors = dict(values), _name_errors(values)
    if "email" in values:
        email = read_email(values["email"])
        if email is None:
            errors["email"] = [NOT_EMAIL]
        else:
            fields |= {"email": email.address, "email_key": email.key}
    for name, address_id in (
        ("bill_address_id", values.get("bill_address_id")),
        ("ship_address_id", values.get("ship_address_id")),
    ):
        if address_id and (user_id is None or await user_queries.find_address(ctx.db, user_id, address_id) is None):
            errors[name] = ["is not an address of this user"]
    if errors:
        raise Invalid(errors)
    return fields


def _name_errors(values: UserInput) -> dict[str, list[str]]:
    """Returns errors for names that are not one line of text; names may be used in e-mails."""
    errors: dict[str, list[str]] = {}
    for name, text in _pick(values, _NAMES).items():
        try:
            read_line(text or "")
        except ValueError as error:
            errors[name] = [str(error)]
    return errors


def _address_input(values: AddressRecordInput) -> AddressInput:
    return replace(AddressInput(), **_pick(values, AddressInput.__struct_fields__))


def _pick(values: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name in names}


USER = ResourceActions("user", CUSTOMERS, create_user, update_user, delete_user)
ADDRESS = ResourceActions("address", ADDRESSES, create_address, update_address, delete_address)
