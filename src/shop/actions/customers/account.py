"""What signed-in shoppers do with what we know of them: names, addresses, sessions."""

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
    """The account, and its default addresses by id."""
    if ctx.claim.bearer is None:
        raise Unauthenticated("Send a user token with this request.")
    account = await users.find_account(ctx.db, ctx.claim.bearer)
    if account is None:
        raise InvalidToken()
    return account, await default_addresses(ctx, account)


async def get_user(ctx: Context, user_id: UUID) -> tuple[AccountUser, list[PlacedAddress]]:
    """The owner of a cart that the caller may see."""
    user = await users.find_user(ctx.db, user_id)
    if user is None:
        raise NotFound()
    return user, list((await default_addresses(ctx, user)).values())


async def update_account(ctx: Context, wishes: Mapping[str, Any]) -> None:
    """Changes what is given and nothing else."""
    user_id = (await ctx.signed_in()).user.id
    async with ctx.transaction() as once:
        if once.done:
            return
        user = await users.lock_known_user(ctx.db, user_id)
        errors = _user_errors(wishes, user)
        wanted = {name: wishes[name] for name in (*_USER_TEXTS, "public_metadata") if name in wishes}
        for name in _DEFAULTS:
            if name in wishes:
                address_id = as_uuid(wishes[name])
                if wishes[name] is not None and not await _is_theirs(ctx, user_id, address_id):
                    errors[name] = ["is not an address of yours"]
                wanted[name] = address_id
        if errors:
            raise Invalid(errors)
        await users.update_user(ctx.db, user_id, **{**_present(user), **wanted})
        once.made(user_id)


async def _is_theirs(ctx: Context, user_id: UUID, address_id: UUID | None) -> bool:
    return address_id is not None and await users.find_address(ctx.db, user_id, address_id) is not None


def _present(user: User) -> dict[str, Any]:
    return {name: getattr(user, name) for name in (*_USER_TEXTS, "public_metadata", *_DEFAULTS)}


async def list_addresses(ctx: Context) -> list[PlacedAddress]:
    return await users.list_addresses(ctx.db, (await ctx.signed_in()).user.id)


async def get_address(ctx: Context, address_id: str) -> PlacedAddress:
    user = (await ctx.signed_in()).user
    found = as_uuid(address_id) and await users.find_address(ctx.db, user.id, UUID(address_id))
    if not found:
        raise NotFound()
    return found


async def add_address(ctx: Context, wishes: Mapping[str, Any]) -> PlacedAddress:
    """The first address of a user becomes both defaults."""
    user_id = (await ctx.signed_in()).user.id
    async with ctx.transaction() as once:
        if once.done:
            return await get_address(ctx, str(once.done))
        fields = await address_fields(ctx, wishes, None)
        user, address_id = await users.lock_known_user(ctx.db, user_id), new_id()
        if len(await users.list_addresses(ctx.db, user_id)) >= MAX_ADDRESSES:
            raise Invalid({"base": [f"an account has at most {MAX_ADDRESSES} addresses; change or remove one"]})
        await users.insert_address(ctx.db, address_id, user_id, fields)
        if user.bill_address_id is None and user.ship_address_id is None:
            both = {"bill_address_id": address_id, "ship_address_id": address_id}
            await users.update_user(ctx.db, user_id, **{**_present(user), **both})
        once.made(address_id)
        return await get_address(ctx, str(address_id))


async def change_address(ctx: Context, address_id: str, wishes: Mapping[str, Any]) -> PlacedAddress:
    """One that a completed order uses stays as it was, hidden; the change is a new address."""
    user_id = (await ctx.signed_in()).user.id
    async with ctx.transaction() as once:
        if once.done:
            return await get_address(ctx, str(once.done))
        await users.lock_known_user(ctx.db, user_id)
        present = await get_address(ctx, address_id)
        fields = await address_fields(ctx, wishes, present)
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
    """Where the user is signed in, and which of them this is."""
    bearer = await ctx.signed_in()
    return await access.list_sessions(ctx.db, bearer.user.id), bearer.session_id


async def end_session(ctx: Context, session_id: str) -> None:
    user = (await ctx.signed_in()).user
    wanted = as_uuid(session_id)
    async with ctx.db.transaction():
        reason = "ended by the user"
        if wanted is None or not await access.end_users_session(
            ctx.db, session_id=wanted, user_id=user.id, reason=reason
        ):
            raise NotFound()
        await audit(ctx, "session_end", "done", actor_id=user.id, detail={"session_id": session_id})


async def default_addresses(ctx: Context, user: User) -> dict[UUID, PlacedAddress]:
    wanted = [address_id for address_id in {user.bill_address_id, user.ship_address_id} if address_id]
    return await users.find_addresses(ctx.db, wanted) if wanted else {}


def name_errors(wishes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Whoever gives a name, it is one line: it may stand in a mail one day."""
    errors: dict[str, list[str]] = {}
    for name in _USER_TEXTS:
        text = wishes.get(name)
        if text is not None and not (isinstance(text, str) and len(text) <= 255 and is_line(text)):
            errors[name] = ["must be one line of at most 255 characters"]
    return errors


def _user_errors(wishes: Mapping[str, Any], user: User) -> dict[str, list[str]]:
    errors = name_errors(wishes)
    if "email" in wishes and not _is_email_of(wishes["email"], user):
        errors["email"] = ["is who you are and cannot be changed here"]
    if "public_metadata" in wishes and not is_metadata(wishes["public_metadata"]):
        errors["public_metadata"] = [METADATA_ERROR]
    return errors


def _is_email_of(value: Any, user: User) -> bool:
    """Clients send back the whole account that they have read."""
    email = read_email(value) if isinstance(value, str) else None
    return email is not None and email.key == user.email_key


async def address_fields(ctx: Context, wishes: Mapping[str, Any], present: PlacedAddress | None) -> dict[str, Any]:
    """The fields of an address as they will be: what is wished over what is there, checked for its country."""
    fields = {name: wishes.get(name, getattr(present, name, None)) for name in _TEXTS}
    errors = {name: ["must be text"] for name, value in fields.items() if not isinstance(value, str | None)}
    fields |= dict.fromkeys(errors)
    country_wish = wishes.get("country_iso") or wishes.get("country_id") or (present and present.country_iso) or ""
    country = await users.find_country(ctx.db, code=str(country_wish).upper(), country_id=as_uuid(country_wish))
    if country is None:
        raise Invalid(address_errors(fields) | errors)
    state, typed = await _state(ctx, wishes, country, present, errors)
    candidates = [typed, state.name, state.abbr] if state else [typed]
    errors = address_errors({**fields, "country_iso": country.iso}, candidates) | errors
    if "state_id" in errors:
        errors.pop("state_name", None)
    if errors:
        raise Invalid(errors)
    return {**fields, "country_id": country.id, "state_id": state and state.id, "state_name": None if state else typed}


async def _state(
    ctx: Context,
    wishes: Mapping[str, Any],
    country: Country,
    present: PlacedAddress | None,
    errors: dict[str, list[str]],
) -> tuple[State | None, str | None]:
    """The state that is wished for, by id, abbreviation or name; and the text of one we do not list."""
    wish = next((wishes[name] for name in ("state_id", "state_name", "state_code") if wishes.get(name)), None)
    if wish is None and present and present.country_id == country.id and "state_name" not in wishes:
        wish = present.state_name
    if not isinstance(wish, str | None):
        errors["state_name"] = ["must be text"]
        return None, None
    if not wish:
        return None, None
    state = await users.find_state(ctx.db, country_id=country.id, text=wish, state_id=as_uuid(wish))
    if state is None and wishes.get("state_id"):
        errors["state_id"] = ["is not a state of this country"]
        return None, None
    return state, wish
