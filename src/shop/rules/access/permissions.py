"""OAuth scopes: which ones an application may request, and what a token allows.

scope words     read application    write application    reads      writes
admin           yes                 yes                  yes        alone, and granted to a write application
read            yes                 yes                  yes        no
write           no                  yes                  yes        yes

`admin:read` and `admin:write` are spellings of `admin read` and `admin write`.
"""

from typing import Literal

Act = Literal["read", "write"]

MAX_SCOPE_LENGTH = 100
LEVELS = ("read", "write")
SCOPES = ("admin", "read", "write")
SCOPE_WORDS = {**{word: (word,) for word in SCOPES}, "admin:read": ("admin", "read"), "admin:write": ("admin", "write")}
_GRANTABLE = {"read": frozenset({"admin", "read"}), "write": frozenset(SCOPES)}


def scope_words(scope: str) -> frozenset[str]:
    """Returns the words of a scope; none if any word is unknown."""
    parts = scope.split(" ")
    # A scope is stored as requested, so its length is limited.
    if len(scope) > MAX_SCOPE_LENGTH or not all(part in SCOPE_WORDS for part in parts):
        return frozenset()
    return frozenset(word for part in parts for word in SCOPE_WORDS[part])


def is_grantable(scope: str, level: str) -> bool:
    words = scope_words(scope)
    return bool(words) and words <= _GRANTABLE[level]


def is_within(scope: str, granted_scope: str, level: str) -> bool:
    """Returns whether `scope` narrows the granted scope. Fewer words can grant more: `admin` grants more than `admin
    read`.
    """
    words = scope_words(scope)
    grows = is_allowed("write", scope, level) and not is_allowed("write", granted_scope, level)
    return bool(words) and words <= scope_words(granted_scope) and not grows


def is_allowed(act: Act, scope: str, level: str) -> bool:
    words = scope_words(scope)
    # Check the level each time: a read application never writes, regardless of its token's scope.
    if not words or not words <= _GRANTABLE[level]:
        return False
    return act == "read" or "write" in words or (words == {"admin"} and level == "write")
