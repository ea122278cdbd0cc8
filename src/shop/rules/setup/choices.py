"""Fields with a fixed set of values."""

from collections.abc import Mapping

from shop.base.errors import Invalid


def check_choice(values: Mapping[str, object], name: str, choices: tuple[str, ...]) -> None:
    """Raises if the field is present and has another value."""
    if name in values and values[name] not in choices:
        raise Invalid({name: [f"must be one of {', '.join(choices)}"]})
