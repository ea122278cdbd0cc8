"""What is sealed is opened by its owner's name and its key alone."""

from shop.base.keys import parse_keys
from shop.base.sealed import seal, unseal

OLD, NEW = "k1:" + "5a" * 32, "k2:" + "5b" * 32


def test_what_was_sealed_is_opened_again_and_reads_otherwise_each_time() -> None:
    keys = parse_keys(OLD)
    sealed = seal(keys, "totp", b"secret", b"ada")

    assert unseal(keys, "totp", sealed, b"ada") == b"secret"
    assert b"secret" not in sealed
    assert seal(keys, "totp", b"secret", b"ada") != sealed


def test_a_new_key_in_front_still_opens_and_a_retired_one_does_not() -> None:
    sealed = seal(parse_keys(OLD), "totp", b"secret", b"ada")

    assert unseal(parse_keys(f"{NEW},{OLD}"), "totp", sealed, b"ada") == b"secret"
    assert unseal(parse_keys(NEW), "totp", sealed, b"ada") is None


def test_another_owner_another_use_and_a_changed_byte_open_nothing() -> None:
    keys = parse_keys(OLD)
    sealed = seal(keys, "totp", b"secret", b"ada")

    assert unseal(keys, "totp", sealed, b"eve") is None
    assert unseal(keys, "other", sealed, b"ada") is None
    assert unseal(keys, "totp", sealed[:-1] + bytes([sealed[-1] ^ 1]), b"ada") is None
    for broken in (b"", b"k1:", b"k1:short", b"\xff:x"):
        assert unseal(keys, "totp", broken, b"ada") is None
