"""Payment providers of extensions, as the shop calls any provider."""

from collections.abc import Mapping
from typing import Any

from shop.actions.context import Context, Shared
from shop.actions.extensions.declarations import PaymentProvider
from shop.actions.extensions.extension_context import ExtensionContext
from shop.actions.extensions.isolation import run_isolated
from shop.actions.installed_extensions import InstalledExtension
from shop.base.errors import BadSignature
from shop.gateways.payments import Call, PaymentWebhook, Provider, Result


class ExtensionProvider(Provider):
    """Calls the functions of an extension, each with a database session of its own."""

    needs_source = True

    def __init__(self, shared: Shared, extension: InstalledExtension, declaration: PaymentProvider) -> None:
        self._shared = shared
        self._extension = extension
        self._declaration = declaration
        self.preferences: Mapping[str, Any] = declaration.preferences

    async def execute(self, call: Call) -> Result:
        return await self._call(self._declaration.execute, call)

    async def find(self, call: Call) -> Result:
        return await self._call(self._declaration.find, call)

    def read_webhook(self, headers: Mapping[bytes, bytes], body: bytes) -> PaymentWebhook | None:
        raise BadSignature()

    def source_error(self, reference: str | None) -> str | None:
        return self._declaration.source_error(reference)

    async def _call(self, function: Any, call: Call) -> Result:
        context = Context(self._shared)
        ctx = ExtensionContext(context, self._extension)
        part = f"payment provider {self._declaration.type}"
        result: Result = await run_isolated(
            self._extension.name, part, context.db.retrying(lambda: function(ctx, call))
        )
        return result
