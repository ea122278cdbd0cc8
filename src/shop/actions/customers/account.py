"""Account management for signed-in customers: names, addresses and sessions."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.base.email import read_email
from shop.base.errors import Invalid, InvalidToken, NotFound, Unauthenticated
from shop.base.ids import as_uuid, new_id
from shop.base.texts import is_line
from shop.models.access.sessions import Session
from shop.models.access.users import AccountUser, User
from shop.models.customers.addresses import PlacedAddress
from shop.models.setup.countries import Country, State
from shop.queries.access import sessions as access
from shop.queries.customers import users
from shop.rules.customers.addresses import address_errors
from shop.rules.metadata import METADATA_ERROR, is_metadata

MAX_ADDRESSES = 100
_TEXTS = ("firstname", "lastname", "company", "address1", "address2", "city", "zipcode", "phone", "label")
_USER_TEXTS = ("first_name", "last_name", "selected_locale")
_DEFAULTS = ("bill_address_id", "ship_address_id")


async def get_account(ctx: Context) -> tuple[AccountUser, dict[UUID, PlacedAddress]]:
    """Returns the account and its default addresses by id."""
    if ctx.claim.bearer is None:
        raise Unauthenticated("Send a user token with this request.")
    account = await users.find_account(ctx.db, ctx.claim.bearer)
    if account is None:
        raise InvalidToken()
    return account, await default_addresses(ctx, account)


async def get_user(ctx: Context, user_id: UUID) -> tuple[AccountUser, list[PlacedAddress]]:
    """Returns the owner of a cart that the caller may see, and their default addresses."""
    user = await users.find_user(ctx.db, user_id)
    if user is None:
        raise NotFound()
    return user, list((await default_addresses(ctx, user)).values())


async def update_account(ctx: Context, values: Mapping[str, Any]) -> None:
    """Updates the given fields only."""
    user_id = (await ctx.signed_in()).user.id
    async with ctx.transaction() as once:
        if once.done:
            return
        user = await users.lock_known_user(ctx.db, user_id)
        errors = _user_errors(values, user)
        changes = {name: values[name] for name in (*_USER_TEXTS, "public_metadata") if name in values}
        for name in _DEFAULTS:
            if name in values:
                address_id = as_uuid(values[name])
                if values[name] is not None and not await _is_users_address(ctx, user_id, address_id):
                    errors[name] = ["is not one of your addresses"]
                changes[name] = address_id
        if errors:
            raise Invalid(errors)
        await users.update_user(ctx.db, user_id, **{**_current_values(user), **changes})
        once.made(user_id)


async def _is_users_address(ctx: Context, user_id: UUID, address_id: UUID | None) -> bool:
    return address_id is not None and await users.find_address(ctx.db, user_id, address_id) is not None


def _current_values(user: User) -> dict[str, Any]:
    return {name: getattr(user, name) for name in (*_USER_TEXTS, "public_metadata", *_DEFAULTS)}


async def list_addresses(ctx: Context) -> list[PlacedAddress]:
    return await users.list_addresses(ctx.db, (await ctx.signed_in()).user.id)


async def get_address(ctx: Context, address_id: str) -> PlacedAddress:
    user = (await ctx.signed_in()).user
    address = as_uuid(address_id) and await users.find_address(ctx.db, user.id, UUID(address_id))
    if not address:
        raise NotFound()
    return address


async def add_address(ctx: Context, values: Mapping[str, Any]) -> PlacedAddress:
    """Adds an address; a user's first address becomes the billing and the shipping default."""
    user_id = (await ctx.signed_in()).user.id
    async with ctx.transaction() as once:
        if once.done:
            return await get_address(ctx, str(once.done))
        fields = await address_fields(ctx, values, None)
        user, address_id = await users.lock_known_user(ctx.db, user_id), new_id()
        if len(await users.list_addresses(ctx.db, user_id)) >= MAX_ADDRESSES:
            raise Invalid({"base": [f"an account has at most {MAX_ADDRESSES} addresses; change or delete one"]})
        await users.insert_address(ctx.db, address_id, user_id, fields)
        if user.bill_address_id is None and user.ship_address_id is None:
            both = {"bill_address_id": address_id, "ship_address_id": address_id}
            await users.update_user(ctx.db, user_id, **{**_current_values(user), **both})
        once.made(address_id)
        return await get_address(ctx, str(address_id))


async def change_address(ctx: Context, address_id: str, values: Mapping[str, Any]) -> PlacedAddress:
    """Updates an address; one used by a completed order is hidden instead and replaced by a new address."""
    user_id = (await ctx.signed_in()).user.id
    async with ctx.transaction() as once:
        if once.done:
            return await get_address(ctx, str(once.done))
        await users.lock_known_user(ctx.db, user_id)
        present = await get_address(ctx, address_id)
        fields = await address_fields(ctx, values, present)
        changed_id = present.id
        if await users.is_used(ctx.db, present.id):
            changed_id = new_id()
            await users.insert_address(ctx.db, changed_id, user_id, fields)
            await users.replace_default(ctx.db, user_id, old_id=present.id, new_id=changed_id)
            await users.hide_address(ctx.db, present.id)
        else:
            await users.update_address(ctx.db, present.id, fields)
        once.made(changed_id)
        return await get_address(ctx, str(changed_id))


async def remove_address(ctx: Context, address_id: str) -> None:
    user = (await ctx.signed_in()).user
    async with ctx.db.transaction():
        await users.lock_known_user(ctx.db, user.id)
        present = await get_address(ctx, address_id)
        await users.replace_default(ctx.db, user.id, old_id=present.id, new_id=None)
        if await users.is_used(ctx.db, present.id) is None:
            await users.delete_address(ctx.db, present.id)
        else:
            await users.hide_address(ctx.db, present.id)


async def list_sessions(ctx: Context) -> tuple[list[Session], UUID]:
    """Returns the user's sessions and the id of the current one."""
    bearer = await ctx.signed_in()
    return await access.list_sessions(ctx.db, bearer.user.id), bearer.session_id


async def end_session(ctx: Context, session_id: str) -> None:
    user = (await ctx.signed_in()).user
    session_uuid = as_uuid(session_id)
    async with ctx.db.transaction():
        reason = "ended by the user"
        if session_uuid is None or not await access.end_users_session(
            ctx.db, session_id=session_uuid, user_id=user.id, reason=reason
        ):
            raise NotFound()
        await audit(ctx, "session_end", "done", actor_id=user.id, detail={"session_id": session_id})


async def default_addresses(ctx: Context, user: User) -> dict[UUID, PlacedAddress]:
    address_ids = [address_id for address_id in {user.bill_address_id, user.ship_address_id} if address_id]
    return await users.find_addresses(ctx.db, address_ids) if address_ids else {}


def name_errors(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """Returns errors for names that are not one line of text; names may be used in e-mails."""
    errors: dict[str, list[str]] = {}
    for name in _USER_TEXTS:
        text = values.get(name)
        if text is not None and not (isinstance(text, str) and len(text) <= 255 and is_line(text)):
            errors[name] = ["must be one line of at most 255 characters"]
    return errors


def _user_errors(values: Mapping[str, Any], user: User) -> dict[str, list[str]]:
    errors = name_errors(values)
    if "email" in values and not _is_email_of(values["email"], user):
        errors["email"] = ["cannot be changed here"]
    if "public_metadata" in values and not is_metadata(values["public_metadata"]):
        errors["public_metadata"] = [METADATA_ERROR]
    return errors


def _is_email_of(value: Any, user: User) -> bool:
    """Whether the value is the user's own e-mail: clients may send back the whole account that they read."""
    email = read_email(value) if isinstance(value, str) else None
    return email is not None and email.key == user.email_key


async def address_fields(ctx: Context, values: Mapping[str, Any], present: PlacedAddress | None) -> dict[str, Any]:
    """Returns the validated fields of an address: the given values merged over the present ones."""
    fields = {name: values.get(name, getattr(present, name, None)) for name in _TEXTS}
    errors = {name: ["must be text"] for name, value in fields.items() if not isinstance(value, str | None)}
    fields |= dict.fromkeys(errors)
    country_key = values.get("country_iso") or values.get("country_id") or (present and present.country_iso) or ""
    country = await users.find_country(ctx.db, code=str(country_key).upper(), country_id=as_uuid(country_key))
    if country is None:
        raise Invalid(address_errors(fields) | errors)
    state, state_text = await _find_state(ctx, values, country, present, errors)
    candidates = [state_text, state.name, state.abbr] if state else [state_text]
    errors = address_errors({**fields, "country_iso": country.iso}, candidates) | errors
    if "state_id" in errors:
        errors.pop("state_name", None)
    if errors:
        raise Invalid(errors)
    return {
        **fields,
        "country_id": country.id,
        "state_id": state and state.id,
        "state_name": None if state else state_text,
    }


async def _find_state(
    ctx: Context,
    values: Mapping[str, Any],
    country: Country,
    present: PlacedAddress | None,
    errors: dict[str, list[str]],
) -> tuple[State | None, str | None]:
    """Returns the state by id, abbreviation or name, and the text as given for states not on our list."""
    state_key = next((values[name] for name in ("state_id", "state_name", "state_code") if values.get(name)), None)
    if state_key is None and present and present.country_id == country.id and "state_name" not in values:
        state_key = present.state_name
    if not isinstance(state_key, str | None):
        errors["state_name"] = ["must be text"]
        return None, None
    if not state_key:
        return None, None
    state = await users.find_state(ctx.db, country_id=country.id, text=state_key, state_id=as_uuid(state_key))
    if state is None and values.get("state_id"):
        errors["state_id"] = ["is not a state of this country"]
        return None, None
    return state, state_key
