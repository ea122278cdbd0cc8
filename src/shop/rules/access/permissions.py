"""What an application may ask for, and what a token allows.

scope words     read application    write application    reading    writing
admin           yes                 yes                  yes        alone, and granted to a write application
read            yes                 yes                  yes        no
write           no                  yes                  yes        yes

`admin:read` and `admin:write` are spellings of `admin read` and `admin write`.
"""

from typing import Literal

Act = Literal["read", "write"]

LONGEST_SCOPE = 100
LEVELS = ("read", "write")
SCOPES = ("admin", "read", "write")
SPELLINGS = {**{word: (word,) for word in SCOPES}, "admin:read": ("admin", "read"), "admin:write": ("admin", "write")}
_GRANTABLE = {"read": frozenset({"admin", "read"}), "write": frozenset(SCOPES)}


def scope_words(scope: str) -> frozenset[str]:
    """The words of a scope; no words when one of them is not a scope of ours."""
    parts = scope.split(" ")
    # A scope is kept as it was asked for, and must not be as long as somebody likes.
    if len(scope) > LONGEST_SCOPE or not all(part in SPELLINGS for part in parts):
        return frozenset()
    return frozenset(word for part in parts for word in SPELLINGS[part])


def is_grantable(scope: str, level: str) -> bool:
    words = scope_words(scope)
    return bool(words) and words <= _GRANTABLE[level]


def is_within(scope: str, granted: str, level: str) -> bool:
    """A token that is refreshed may shrink, and never grows: of `admin read`, `admin` is fewer words and more power."""
    words = scope_words(scope)
    grows = may("write", scope, level) and not may("write", granted, level)
    return bool(words) and words <= scope_words(granted) and not grows


def may(act: Act, scope: str, level: str) -> bool:
    words = scope_words(scope)
    # The level is asked each time: whatever a token says, a read application never writes.
    if not words or not words <= _GRANTABLE[level]:
        return False
    return act == "read" or "write" in words or (words == {"admin"} and level == "write")
