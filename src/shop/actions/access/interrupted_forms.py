"""Carries a form through a sign-in: encrypted in the page, readable for one operator only, and nothing is stored."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

import msgspec

from shop.actions.access.sealed_secrets import decrypt_secret, encrypt_secret
from shop.actions.context import Context
from shop.queries.access import operators
from shop.rules.access.interrupted_forms import FORM_SECONDS, MAX_FORM_BYTES, InterruptedForm
from shop.rules.access.operators import local_path

_USE = "interrupted form"


async def find_former_operator(ctx: Context, session_hash: bytes) -> UUID | None:
    """Returns the operator of a session that has ended; None if there never was one, or the operator is disabled."""
    return await operators.find_former_operator(ctx.db, session_hash)


async def seal_form(ctx: Context, operator_id: UUID, form: InterruptedForm) -> str | None:
    """Returns the encrypted form, for the sign-in page to carry; None if it is too large."""
    expires_at = await operators.read_clock(ctx.db) + FORM_SECONDS
    data = msgspec.json.encode(msgspec.structs.replace(form, expires_at=expires_at))
    if len(data) > MAX_FORM_BYTES:
        return None
    return urlsafe_b64encode(encrypt_secret(ctx.shared.keys, _USE, data, operator_id.bytes)).decode()


async def open_form(ctx: Context, operator_id: UUID, sealed_form: str) -> InterruptedForm | None:
    """Returns the form if it belongs to this operator and is less than an hour old."""
    try:
        ciphertext = urlsafe_b64decode(sealed_form.encode("ascii"))
    except ValueError:
        return None
    data = decrypt_secret(ctx.shared.keys, _USE, ciphertext, operator_id.bytes)
    if data is None:
        return None
    form = msgspec.json.decode(data, type=InterruptedForm)
    is_current = await operators.read_clock(ctx.db) <= form.expires_at
    return form if is_current and local_path(form.path) == form.path else None
