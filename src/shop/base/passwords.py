"""What is kept of a password: an argon2id hash that is slow to guess from. Slow to make too: call it in a thread."""

import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_hasher = PasswordHasher(time_cost=2, memory_cost=47_104, parallelism=1)
# Of a text that nobody has. Making one takes a tenth of a second, which every command would pay at its start.
NOBODYS = "$argon2id$v=19$m=47104,t=2,p=1$DK4odPy7ynfpX16zHS7srw$d12dfT1CLU7HhlDJbqLFInalNjoWK9ZQQXh6dWU5Z34"


def hash_password(password: str) -> str:
    return _hasher.hash(_plain(password))


def is_password(password_hash: str | None, password: str) -> bool:
    """The same work when there is no hash: the time must not tell whether there is one."""
    try:
        fits = _hasher.verify(password_hash or NOBODYS, _plain(password))
    except (VerificationError, InvalidHashError):
        return False
    return fits and password_hash is not None


def is_outdated(password_hash: str) -> bool:
    """Whether a hash was made with other parameters than those of today."""
    return _hasher.check_needs_rehash(password_hash)


def _plain(password: str) -> str:
    # The same letters typed on another keyboard may arrive as other code points.
    return unicodedata.normalize("NFKC", password)
