"""Password rules for operators: long, and hard to guess even with knowledge of the shop and its people.

zxcvbn-rs-py estimates the strength: MIT license, yearly releases, wheels for all common platforms, 1 ms per password.
The pure Python port takes up to 12 s for a malicious password.
"""

import re
from typing import TYPE_CHECKING

from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    import zxcvbn_rs_py
else:
    zxcvbn_rs_py = LazyModule("zxcvbn_rs_py")

MIN_PASSWORD = 15
MAX_PASSWORD = 1024
_MIN_GUESSES_LOG10 = 10
# The estimate is slow for long texts, so the first or the last characters alone must be strong enough.
_WINDOW = 32
_PUBLIC_WORDS = ("admin", "administrator", "dashboard", "operator", "password", "passwort", "shop", "store")
_MIN_WORD_LENGTH = 3
_LOOK_ALIKES = str.maketrans("013457@$!", "oleastasi")
_ADVICE = "use four or more unrelated words, or let a password manager generate one"


def password_errors(password: str, email: str, shop_name: str) -> list[str]:
    """Returns the errors of a new password. Without character class rules, which make people write passwords down."""
    if len(password) < MIN_PASSWORD:
        return [f"must have at least {MIN_PASSWORD} characters; {_ADVICE}"]
    if len(password) > MAX_PASSWORD:
        return [f"must have at most {MAX_PASSWORD} characters"]
    words = _context_words(email, shop_name)
    if not _is_strong_without(password, words):
        return [f"consists of the shop's name, your e-mail address or words like “password”; {_ADVICE}"]
    if not _is_strong(password, words):
        return [f"is easy to guess: it is common, repeated, or follows a pattern; {_ADVICE}"]
    return []


def _context_words(email: str, shop_name: str) -> list[str]:
    """Returns the words that an attacker would try first, longest first."""
    name, address = shop_name.casefold(), email.casefold()
    words = {
        name,
        name.replace(" ", ""),
        address,
        address.partition("@")[0],
        *re.split(r"[\W_]+", f"{name} {address}"),
    }
    long_words = {word for word in words if len(word) >= _MIN_WORD_LENGTH}
    return sorted({*long_words, *_PUBLIC_WORDS}, key=len, reverse=True)


def _is_strong(text: str, words: list[str]) -> bool:
    ends = {text[:_WINDOW], text[-_WINDOW:]}
    return any(zxcvbn_rs_py.zxcvbn(end, words).guesses_log10 >= _MIN_GUESSES_LOG10 for end in ends)


def _is_strong_without(password: str, words: list[str]) -> bool:
    """Returns whether the password is strong without these words, including words with digits for letters."""
    plain = password.casefold()
    pattern = re.compile("|".join(re.escape(word.translate(_LOOK_ALIKES)) for word in words))
    spans = [match.span() for match in pattern.finditer(plain.translate(_LOOK_ALIKES))]
    starts, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(plain)]
    left = "".join(plain[start:end] for start, end in zip(starts, ends, strict=True))
    return not spans or _is_strong(left, words)
