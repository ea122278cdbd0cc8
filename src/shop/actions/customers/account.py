"""Account management for signed-in customers: names, addresses and sessions."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import UNSET

from shop.actions.audit import audit
from shop.actions.context import Context
from shop.actions.event_subjects import ADDRESS, CUSTOMER
from shop.actions.events import note_change, note_locked, note_rows
from shop.base.email import read_email
from shop.base.errors import ChangedMeanwhile, Invalid, InvalidToken, NotFound, Unauthenticated
from shop.base.ids import new_id
from shop.models.access.sessions import Session
from shop.models.access.users import AccountUser, User
from shop.models.customers.addresses import AddressWithCountry
from shop.models.customers.inputs import AccountFields, AddressInput
from shop.models.setup.countries import Country, State
from shop.queries.access import sessions as session_queries
from shop.queries.customers import users
from shop.rules.customers.addresses import address_errors

MAX_ADDRESSES = 100
CLOSED = "The account is closed: it was erased, or merged into another one."
_TEXTS = ("firstname", "lastname", "company", "address1", "address2", "city", "zipcode", "phone", "label")
_COLUMNS = (*_TEXTS, "country_id", "state_id", "state_name")
_ACCOUNT = ("first_name", "last_name", "selected_locale", "public_metadata", "bill_address_id", "ship_address_id")


async def get_account(ctx: Context) -> tuple[AccountUser, dict[UUID, AddressWithCountry]]:
    """Returns the account and its default addresses by id."""
    if ctx.claim.bearer is None:
        raise Unauthenticated("Send a user token with this request.")
    account = await users.find_account(ctx.db, ctx.claim.bearer)
    if account is None:
        raise InvalidToken()
    return account, await default_addresses(ctx, account)


async def get_user(ctx: Context, user_id: UUID) -> tuple[AccountUser, list[AddressWithCountry]]:
    """Returns the owner of a cart that the caller may see, and their default addresses."""
    user = await users.find_user(ctx.db, user_id)
    if user is None:
        raise NotFound()
    return user, list((await default_addresses(ctx, user)).values())


async def update_account(
    ctx: Context, values: AccountFields, input_errors: Mapping[str, list[str]], owner_id: UUID | None = None
) -> None:
    """Updates the fields that are set; raises Invalid with the errors of all fields."""
    user_id = await _owner_id(ctx, owner_id)
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return
        user = await lock_account(ctx, user_id)
        errors = dict(input_errors)
        # Clients may send back the whole account that they read.
        if values.email is not UNSET and not _is_email_of(values.email, user):
            errors["email"] = ["cannot be changed here"]
        defaults = {"bill_address_id": values.bill_address_id, "ship_address_id": values.ship_address_id}
        for name, address_id in defaults.items():
            if address_id and await users.find_address(ctx.db, user_id, address_id) is None:
                errors[name] = ["is not one of your addresses"]
        if errors:
            raise Invalid(errors)
        changes = {name: value for name in _ACCOUNT if (value := getattr(values, name)) is not UNSET}
        note_change(ctx, CUSTOMER, user_id, user)
        await users.update_user(ctx.db, user_id, **{**_current_values(user), **changes})
        idempotency.record(user_id)


def _is_email_of(text: str, user: User) -> bool:
    email = read_email(text)
    return email is not None and email.key == user.email_key


def _current_values(user: User) -> dict[str, object]:
    return {name: getattr(user, name) for name in _ACCOUNT}


async def list_addresses(ctx: Context) -> list[AddressWithCountry]:
    return await users.list_addresses(ctx.db, (await ctx.signed_in()).user.id)


async def get_address(ctx: Context, address_id: UUID, owner_id: UUID | None = None) -> AddressWithCountry:
    """Returns an address of the signed-in customer. Here and below, operators pass the id of its owner."""
    address = await users.find_address(ctx.db, await _owner_id(ctx, owner_id), address_id)
    if address is None:
        raise NotFound()
    return address


async def add_address(ctx: Context, values: AddressInput, owner_id: UUID | None = None) -> AddressWithCountry:
    """Adds an address; a user's first address becomes the billing and the shipping default."""
    user_id = await _owner_id(ctx, owner_id)
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return await get_address(ctx, idempotency.existing_id, user_id)
        fields = await address_fields(ctx, values, None)
        user, address_id = await lock_account(ctx, user_id), new_id()
        if len(await users.list_addresses(ctx.db, user_id)) >= MAX_ADDRESSES:
            raise Invalid({"base": [f"an account has at most {MAX_ADDRESSES} addresses; change or delete one"]})
        await insert_address(ctx, user, address_id, fields)
        idempotency.record(address_id)
        return await get_address(ctx, address_id, user_id)


async def save_copy(ctx: Context, user_id: UUID, address_id: UUID) -> None:
    """Copies an address of an order to the address book of a locked user, unless it is there."""
    user, own = await users.lock_user(ctx.db, user_id), await users.list_addresses(ctx.db, user_id)
    address = (await users.find_addresses(ctx.db, [address_id]))[address_id]
    fields = {name: getattr(address, name) for name in _COLUMNS}
    if len(own) >= MAX_ADDRESSES or any(fields == {name: getattr(each, name) for name in _COLUMNS} for each in own):
        return
    state_name = None if address.state_id else address.state_name
    await insert_address(ctx, user, new_id(), {**fields, "state_name": state_name})


async def insert_address(ctx: Context, user: User, address_id: UUID, fields: dict[str, object]) -> None:
    """Inserts an address of a locked user; the first one becomes the billing and the shipping default."""
    note_change(ctx, ADDRESS, address_id)
    await users.insert_address(ctx.db, address_id, user.id, fields)
    if user.bill_address_id is None and user.ship_address_id is None:
        note_change(ctx, CUSTOMER, user.id, user)
        both = {"bill_address_id": address_id, "ship_address_id": address_id}
        await users.update_user(ctx.db, user.id, **{**_current_values(user), **both})


async def change_address(
    ctx: Context, address_id: UUID, values: AddressInput, owner_id: UUID | None = None, *, seen_at: str | None = None
) -> AddressWithCountry:
    """Updates an address; one used by a completed order is hidden instead and replaced by a new address. Raises
    ChangedMeanwhile if it changed after `seen_at`, the last change that a form showed.
    """
    user_id = await _owner_id(ctx, owner_id)
    async with ctx.transaction() as idempotency:
        if idempotency.existing_id:
            return await get_address(ctx, idempotency.existing_id, user_id)
        user = await lock_account(ctx, user_id)
        present = await get_address(ctx, address_id, user_id)
        if seen_at is not None and present.updated_at.isoformat() != seen_at:
            raise ChangedMeanwhile()
        fields = await address_fields(ctx, values, present)
        changed_id = await update_or_replace(ctx, user, present.id, fields)
        idempotency.record(changed_id)
        return await get_address(ctx, changed_id, user_id)


async def update_or_replace(ctx: Context, user: User, address_id: UUID, fields: dict[str, object]) -> UUID:
    """Updates an address of a locked user, or replaces one that a completed order uses; returns its id."""
    if not await users.is_used(ctx.db, address_id):
        await note_locked(ctx, ADDRESS, address_id)
        await users.update_address(ctx.db, address_id, fields)
        return address_id
    changed_id = new_id()
    note_change(ctx, ADDRESS, changed_id)
    await users.insert_address(ctx.db, changed_id, user.id, fields)
    await _note_hidden(ctx, user, address_id)
    await users.replace_default(ctx.db, user.id, old_id=address_id, new_id=changed_id)
    await users.soft_delete_address(ctx.db, address_id)
    return changed_id


async def remove_address(ctx: Context, address_id: UUID, owner_id: UUID | None = None) -> None:
    user_id = await _owner_id(ctx, owner_id)
    async with ctx.db.transaction():
        user = await lock_account(ctx, user_id)
        present = await get_address(ctx, address_id, user_id)
        await _note_hidden(ctx, user, present.id)
        await users.replace_default(ctx.db, user_id, old_id=present.id, new_id=None)
        if await users.is_used(ctx.db, present.id) is None:
            await users.delete_address(ctx.db, present.id)
        else:
            await users.soft_delete_address(ctx.db, present.id)


async def _owner_id(ctx: Context, owner_id: UUID | None) -> UUID:
    return owner_id or (await ctx.signed_in()).user.id


async def lock_account(ctx: Context, user_id: UUID) -> User:
    """Locks an account that can be changed."""
    user: User | None = await users.lock_user(ctx.db, user_id)
    if user is None:
        raise NotFound()
    check_open(user)
    return user


def check_open(user: User) -> None:
    """Refuses to change an account that was erased, or merged into another one."""
    if user.erased_at:
        raise Invalid({"base": [CLOSED]}, CLOSED)


async def _note_hidden(ctx: Context, user: User, address_id: UUID) -> None:
    """Notes that an address of a locked user is deleted or hidden, and no longer a default."""
    await note_rows(ctx, ADDRESS, [address_id], is_deleted=True)
    note_change(ctx, CUSTOMER, user.id, user)


async def list_sessions(ctx: Context) -> tuple[list[Session], UUID]:
    """Returns the user's sessions and the id of the current one."""
    bearer = await ctx.signed_in()
    return await session_queries.list_sessions(ctx.db, bearer.user.id), bearer.session_id


async def end_session(ctx: Context, session_id: UUID) -> None:
    user = (await ctx.signed_in()).user
    async with ctx.db.transaction():
        reason = "ended by the user"
        if not await session_queries.end_users_session(ctx.db, session_id=session_id, user_id=user.id, reason=reason):
            raise NotFound()
        await audit(ctx, "session_end", "done", actor_id=user.id, detail={"session_id": str(session_id)})


async def end_other_sessions(ctx: Context) -> int:
    """Ends all sessions of the user but the current one; returns their number."""
    bearer = await ctx.signed_in()
    async with ctx.db.transaction():
        reason = "ended by the user"
        count = await session_queries.end_other_sessions(ctx.db, bearer.user.id, bearer.session_id, reason)
        await audit(ctx, "sessions_end", "done", actor_id=bearer.user.id, detail={"count": count})
    return count


async def default_addresses(ctx: Context, user: User) -> dict[UUID, AddressWithCountry]:
    address_ids = [address_id for address_id in {user.bill_address_id, user.ship_address_id} if address_id]
    return await users.find_addresses(ctx.db, address_ids) if address_ids else {}


async def address_fields(ctx: Context, values: AddressInput, present: AddressWithCountry | None) -> dict[str, object]:
    """Returns the validated fields of an address: the given values, or else the current ones."""
    fields: dict[str, str | None] = {name: getattr(present, name, None) for name in _TEXTS}
    fields |= {name: text for name in _TEXTS if (text := getattr(values, name)) is not UNSET}
    country = await _find_country(ctx, values, present)
    if country is None:
        raise Invalid(address_errors(fields))
    state, state_text = await _find_state(ctx, values, country, present)
    candidates = [state_text, state.name, state.abbr] if state else [state_text]
    errors = address_errors({**fields, "country_iso": country.iso}, candidates)
    if values.state_id and state is None:
        errors.pop("state_name", None)
        errors["state_id"] = ["is not a state of this country"]
    if errors:
        raise Invalid(errors)
    return {
        **fields,
        "country_id": country.id,
        "state_id": state and state.id,
        "state_name": None if state else state_text,
    }


async def _find_country(ctx: Context, values: AddressInput, present: AddressWithCountry | None) -> Country | None:
    """Returns the country by code or id, or else the current one: a country cannot be cleared."""
    if values.country_iso:
        return await ctx.read_setup(users.find_country, code=values.country_iso.upper(), country_id=None)
    country_id = values.country_id or (present.country_id if present else None)
    return await ctx.read_setup(users.find_country, code="", country_id=country_id) if country_id else None


async def _find_state(
    ctx: Context, values: AddressInput, country: Country, present: AddressWithCountry | None
) -> tuple[State | None, str | None]:
    """Returns the state by id, name or abbreviation, and its text as entered, for states that are not on our list."""
    if values.state_id:
        text = str(values.state_id)
        return await ctx.read_setup(users.find_state, country_id=country.id, text=text, state_id=values.state_id), None
    state_text = values.state_name or values.state_code
    if not state_text and values.state_name is UNSET and present and present.country_id == country.id:
        state_text = present.state_name
    if not state_text:
        return None, None
    return await ctx.read_setup(users.find_state, country_id=country.id, text=state_text, state_id=None), state_text
