"""Strict JSON parsing: the standard library accepts duplicate keys, NaN, NUL, lone surrogates and any depth."""

import json
import math
from typing import Any, NoReturn

import msgspec

from shop.base.errors import Malformed

MAX_DEPTH = 32
MAX_KEYS = 1000
MAX_VALUES = 20_000
MAX_INTEGER = 2**53


class Bounds(msgspec.Struct, frozen=True):
    """Size limits of a JSON body."""

    depth: int = MAX_DEPTH
    keys: int = MAX_KEYS
    values: int = MAX_VALUES


_DEFAULT_BOUNDS = Bounds()


def load_json(body: bytes, bounds: Bounds = _DEFAULT_BOUNDS) -> Any:
    try:
        value = _decoder.decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        # The parser's error messages quote the input, which the response must not repeat.
        raise Malformed("The body is not JSON in UTF-8.") from error
    _Walk(bounds).check(value, 1)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Malformed("The body has the same key twice in one object.")
    return value


def _refuse(_constant: str) -> NoReturn:
    raise Malformed("The body contains NaN or Infinity, which JSON does not allow.")


_decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)


class _Walk:
    """Visits every value once and counts keys and values over the whole body."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.keys = self.values = 0

    def check(self, value: Any, depth: int) -> None:
        self.values += 1
        if self.values > self.bounds.values:
            raise Malformed(f"The body has more than {self.bounds.values} values.")
        match value:
            case str():
                self._check_text(value)
            case bool() | None:
                pass
            case int():
                if abs(value) > MAX_INTEGER:
                    raise Malformed("The body has an integer beyond 2^53.")
            case float():
                if not math.isfinite(value):
                    raise Malformed("The body has a number that is too large.")
            case dict() | list():
                self._check_group(value, depth)

    def _check_group(self, group: dict[str, Any] | list[Any], depth: int) -> None:
        if depth > self.bounds.depth:
            raise Malformed(f"The body is nested deeper than {self.bounds.depth} levels.")
        if isinstance(group, dict):
            self.keys += len(group)
            if self.keys > self.bounds.keys:
                raise Malformed(f"The body has more than {self.bounds.keys} keys.")
            for name in group:
                self._check_text(name)
        for item in group.values() if isinstance(group, dict) else group:
            self.check(item, depth + 1)

    @staticmethod
    def _check_text(text: str) -> None:
        if "\x00" in text:
            raise Malformed("The body has a NUL character in a string.")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Malformed("The body has an unpaired surrogate in a string.") from None
