"""The extensions of a process; empty for most shops. `actions/extensions/declarations.py` has the types of their parts,
which depend on the context of a request.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from shop.gateways.payments import Provider
from shop.gateways.providers import Providers


class InstalledExtension(msgspec.Struct, frozen=True, eq=False):
    """An extension and the values of its settings."""

    declaration: Any
    settings: Any

    @property
    def name(self) -> str:
        return str(self.declaration.name)


class InstalledExtensions(msgspec.Struct, frozen=True, eq=False):
    """The extensions that this process runs."""

    extensions: Sequence[InstalledExtension] = ()
    providers: Mapping[str, Callable[[Any], Provider]] = {}
    """By type of payment method: opens the provider with the state that all requests share."""
    provider_labels: Mapping[str, str] = {}

    def add_providers(self, providers: Mapping[str, Provider], shared: Any) -> Mapping[str, Provider]:
        """Returns the payment providers of the shop with those of extensions."""
        if not self.providers:
            return providers
        return Providers({**providers, **{type_: make(shared) for type_, make in self.providers.items()}})


NO_EXTENSIONS = InstalledExtensions()
