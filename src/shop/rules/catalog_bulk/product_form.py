"""Options and variants of the form of a whole product."""

from collections.abc import Sequence
from itertools import product as combine
from math import prod

import msgspec

from shop.base.texts import is_line, slug_of
from shop.rules.form_values import fingerprint, split_words

MAX_OPTIONS = 3
MAX_COMBINATIONS = 100
MAX_NAME_LENGTH = 60
COPY_PREFIX = "Copy of "


class OptionChoice(msgspec.Struct, frozen=True):
    """An option of a new product and its values: Size with S, M and L."""

    name: str
    values: Sequence[str]


class Combination(msgspec.Struct, frozen=True):
    """One value of each option, in their order. `key` names its fields in the form."""

    values: Sequence[str]

    @property
    def key(self) -> str:
        return fingerprint({"values": self.values})[:12]

    @property
    def label(self) -> str:
        return ", ".join(self.values)

    def sku(self, prefix: str) -> str:
        """Returns the suggested SKU: `MUG-RED-L`."""
        parts = [slug_of(value).upper() or str(number) for number, value in enumerate(self.values, 1)]
        return "-".join([prefix, *parts]) if prefix else ""


def read_options(texts: Sequence[tuple[str, str]]) -> list[OptionChoice]:
    """Reads names and comma-separated values of options, without empty ones; ValueError with the reason."""
    options: list[OptionChoice] = []
    for name_text, values_text in texts:
        name, values = " ".join(name_text.split()), split_words(values_text)
        if not name and not values:
            continue
        if not name or not values:
            raise ValueError("must have a name and at least one value each")
        if any(len(text) > MAX_NAME_LENGTH or not is_line(text) for text in (name, *values)):
            raise ValueError(f"must have names and values of at most {MAX_NAME_LENGTH} characters")
        options.append(OptionChoice(name, values))
    if len({slug_of(option.name) or option.name.casefold() for option in options}) < len(options):
        raise ValueError("must have different names")
    count = prod(len(option.values) for option in options)
    if count > MAX_COMBINATIONS:
        raise ValueError(f"would create {count} variants; create at most {MAX_COMBINATIONS} at once")
    return options


def list_combinations(options: Sequence[OptionChoice]) -> list[Combination]:
    """Returns a variant for each combination of values; none without options."""
    return [Combination(values) for values in combine(*(option.values for option in options))] if options else []
