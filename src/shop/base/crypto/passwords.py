"""Password hashes (argon2id). Hashing is slow by design: call these functions in a thread."""

import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_hasher = PasswordHasher(time_cost=2, memory_cost=47_104, parallelism=1)
# A hash that matches no password; a constant, because hashing would add a tenth of a second to every start.
DUMMY_HASH = "$argon2id$v=19$m=47104,t=2,p=1$DK4odPy7ynfpX16zHS7srw$d12dfT1CLU7HhlDJbqLFInalNjoWK9ZQQXh6dWU5Z34"


def hash_password(password: str) -> str:
    return _hasher.hash(_normalize(password))


def is_password(password_hash: str | None, password: str) -> bool:
    """Verifies a password. Does the same work without a hash, so that timing does not reveal whether there is one."""
    try:
        fits = _hasher.verify(password_hash or DUMMY_HASH, _normalize(password))
    except (VerificationError, InvalidHashError):
        return False
    return fits and password_hash is not None


def is_outdated(password_hash: str) -> bool:
    """Returns whether a hash uses other parameters than the current ones."""
    return _hasher.check_needs_rehash(password_hash)


def _normalize(password: str) -> str:
    # Keyboards may send different code points for the same characters.
    return unicodedata.normalize("NFKC", password)
