"""What the code of an extension can use: its settings, its tables, and a few records of the shop."""

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar
from uuid import UUID

from shop.actions import records
from shop.actions.context import Context, Shared
from shop.actions.installed_extensions import InstalledExtension
from shop.actions.mail_events import queue_mails
from shop.base.actor import SHOP_ACTOR, Actor
from shop.base.email import read_email
from shop.base.errors import Invalid
from shop.db.statements import Statement
from shop.queries.extensions import records as summaries
from shop.queries.extensions.records import CustomerSummary, LineSummary, OrderSummary, VariantSummary
from shop.rules.mail_events import MailRequest

R = TypeVar("R")
BUDGET_FREE_ACTORS = frozenset({"application", "operator", "command line"})
"""Not the shop itself: listeners run as the shop, also after an event that anyone can cause."""


class ExtensionContext:
    """The context of one call of an extension. Outside a transaction, it can write once."""

    __slots__ = ("_context", "_extension")

    def __init__(self, context: Context, extension: InstalledExtension) -> None:
        self._context = context
        self._extension = extension

    @property
    def settings(self) -> Any:
        """The settings of the extension."""
        return self._extension.settings

    @property
    def actor(self) -> Actor:
        """Who caused the call."""
        return self._context.actor

    @property
    def currencies(self) -> Sequence[str]:
        """The currencies of the shop, the default first."""
        return self._context.shared.shop.currencies

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Opens a transaction. An error rolls it back."""
        return self._context.db.transaction()

    def one(self, statement: Statement[R], **values: Any) -> Coroutine[Any, Any, R | None]:
        """Runs a statement; returns its first row, or None."""
        return self._context.db.one(statement, **values)

    def all(self, statement: Statement[R], **values: Any) -> Coroutine[Any, Any, list[R]]:
        """Runs a statement; returns all rows."""
        return self._context.db.all(statement, **values)

    async def create(self, resource: Any, values: Mapping[str, Any]) -> UUID:
        """Creates a record of the extension's own resource in the current transaction, with its event and audit."""
        return await records.make(self._context, resource.actions, values)

    async def update(self, resource: Any, record_id: UUID, values: Mapping[str, Any]) -> None:
        """Updates a record of the extension's own resource in the current transaction, with its event and audit."""
        await records.change(self._context, resource.actions, record_id, values)

    async def delete(self, resource: Any, record_id: UUID) -> None:
        """Deletes a record of the extension's own resource in the current transaction, with its event and audit."""
        await records.remove(self._context, resource.actions, record_id)

    async def send_mail(self, kind: str, ref_id: UUID, *, to: str, customer_id: UUID | None = None) -> bool:
        """Queues an e-mail of the extension's own kind in the current transaction, if there is one; returns False if
        operators turned it off. `ref_id` is the id of the record that it is about. It spends the mail budget, unless
        an operator or an application causes it, or it goes to the verified address of this customer.
        """
        if kind not in {mail.definition.kind for mail in self._extension.declaration.mails}:
            raise ValueError(f"{kind} is not an e-mail of the extension {self._extension.name}")
        email = read_email(to)
        if email is None:
            raise Invalid({"email": ["is invalid"]})
        is_free = self._context.actor.kind in BUDGET_FREE_ACTORS
        request = MailRequest(kind=kind, ref_id=ref_id, recipient=email.address, owner_id=customer_id, is_free=is_free)
        return bool(await queue_mails(self._context, [request]))

    async def find_order(self, key: UUID | str) -> OrderSummary | None:
        """Returns an order or cart by its id or number."""
        return await summaries.find_order(self._context.db, key)

    async def list_lines(self, order_id: UUID) -> Sequence[LineSummary]:
        """Returns the line items of an order."""
        return await summaries.list_lines(self._context.db, order_id)

    async def find_customer(self, key: UUID | str) -> CustomerSummary | None:
        """Returns a customer by id or e-mail address."""
        return await summaries.find_customer(self._context.db, key)

    async def find_variant(self, key: UUID | str) -> VariantSummary | None:
        """Returns a variant by id or SKU."""
        return await summaries.find_variant(self._context.db, key)


def background_context(shared: Shared, extension: InstalledExtension) -> ExtensionContext:
    """Returns the context of work that no request causes."""
    context = Context(shared)
    context.actor = SHOP_ACTOR
    return ExtensionContext(context, extension)
