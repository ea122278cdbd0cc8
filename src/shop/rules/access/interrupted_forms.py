"""Forms that a sign-in interrupts: which of their fields may be shown again afterwards."""

from collections.abc import Sequence

import msgspec

from shop.rules.access.operators import local_path

FORM_SECONDS = 3600
MAX_FORM_BYTES = 64 * 1024
_PATHS_WITH_SECRETS = ("/admin/account", "/admin/confirm", "/admin/sign-out")
_SECRET_WORDS = ("csrf", "password", "secret", "credential", "recovery_code", "current_code")


class InterruptedForm(msgspec.Struct, frozen=True):
    """A form that was submitted after the session ended: its path, what it does, and its fields in order."""

    path: str
    title: str
    fields: Sequence[tuple[str, str]]
    expires_at: int = 0


def build_form(path: str, title: str, pairs: Sequence[tuple[str, str]]) -> InterruptedForm | None:
    """Returns the form without secrets; None if it has no values, or belongs to the operator's own credentials."""
    fields = [(name, value) for name, value in pairs if not any(word in name.lower() for word in _SECRET_WORDS)]
    is_own = local_path(path) == path and not path.startswith(_PATHS_WITH_SECRETS)
    return InterruptedForm(path, title, fields) if fields and is_own else None
